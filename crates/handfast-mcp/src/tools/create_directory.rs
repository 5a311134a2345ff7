//! `create_directory`: with parents; one that is there is fine.

use handfast::ErrorKind;
use handfast::files::{Files, LastLink};

use crate::answer::ToolResult;
use crate::call::Call;
use crate::place::Location;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let place = call.place("path")?;
    make(call, &place)?;
    let text = format!("Successfully created directory {}", call.text("path"));
    Ok(ToolResult::text(text))
}

fn make(call: &Call<'_>, place: &Location) -> Result<(), Trouble> {
    // Most directories that are asked for are there already, also where nothing may be made.
    let is_dir = |files: &dyn Files| {
        let status = files.metadata(place.rel(), LastLink::Follow);
        status.map(|status| status.is_dir())
    };
    match is_dir(call.files()) {
        Ok(true) => return Ok(()),
        Ok(false) => return Err(in_the_way(place)),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(unmakable(call, &error, place)),
    }
    let made = call.files().create_dir_all(place.rel(), 0o777);
    made.map_err(|error| match is_dir(call.looking()) {
        Ok(false) => in_the_way(place),
        _ => unmakable(call, &error, place),
    })
}

fn in_the_way(place: &Location) -> Trouble {
    let text = format!("EEXIST: file already exists, mkdir '{}'", place.shown);
    Trouble::new(ErrorKind::Exists, text)
}

fn unmakable(call: &Call<'_>, error: &handfast_session::Error, place: &Location) -> Trouble {
    let verb = match error.kind() {
        ErrorKind::NotADirectory => "realpath",
        _ => "mkdir",
    };
    call.trouble(error, verb, place)
}
