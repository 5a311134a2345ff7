//! `create_directory`: with parents; one that is there is fine.

use handfast::ErrorKind;

use crate::answer::Answer;
use crate::call::Call;
use crate::place::Place;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Trouble> {
    let place = call.place("path")?;
    make(call, &place)?;
    let text = format!("Successfully created directory {}", call.text("path"));
    Ok(Answer::text(text))
}

fn make(call: &Call<'_>, place: &Place) -> Result<(), Trouble> {
    // Most directories that are asked for are there, or their parent is.
    let session = call.session();
    match session.metadata(&place.path) {
        Ok(status) if status.is_dir() => return Ok(()),
        Ok(_) => return Err(in_the_way(place)),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(unmakable(call, &error, place)),
    }
    for path in missing(call, &place.path) {
        match session.create_dir(&path) {
            Ok(()) => {}
            // Somebody was quicker; what it is, the next step or the last look says.
            Err(error) if error.kind() == ErrorKind::Exists => {}
            Err(error) => return Err(unmakable(call, &error, place)),
        }
    }
    match call.looking().metadata(&place.path) {
        Ok(status) if status.is_dir() => Ok(()),
        Ok(_) => Err(in_the_way(place)),
        Err(error) => Err(unmakable(call, &error, place)),
    }
}

/// The directories to make, from the top.
fn missing(call: &Call<'_>, path: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut at = path.to_vec();
    loop {
        let is_there = call.looking().symlink_metadata(&at).is_ok();
        if is_there {
            break;
        }
        found.push(at.clone());
        match at.iter().rposition(|byte| *byte == b'/') {
            None | Some(0) => break,
            Some(slash) => at.truncate(slash),
        }
    }
    found.reverse();
    found
}

fn in_the_way(place: &Place) -> Trouble {
    let text = format!("EEXIST: file already exists, mkdir '{}'", place.shown);
    Trouble::new(ErrorKind::Exists, text)
}

fn unmakable(call: &Call<'_>, error: &handfast_session::Error, place: &Place) -> Trouble {
    let verb = match error.kind() {
        ErrorKind::NotADirectory => "realpath",
        _ => "mkdir",
    };
    call.trouble(error, verb, place)
}
