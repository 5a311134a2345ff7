//! `write_file`: the whole content in one step; the mode of a file that is there stays.

use super::versions;
use crate::answer::Answer;
use crate::call::Call;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Trouble> {
    let expected = call.expected_version()?;
    let place = call.place("path")?;
    let content = call.text("content");
    let written = match &expected {
        Some(version) => call.session().write_if(&place.path, version, content),
        None => call.session().write(&place.path, content),
    };
    let written = written.map_err(|error| versions::unwritable(call, &error, &place))?;
    let text = format!("Successfully wrote to {}", call.text("path"));
    Ok(Answer::text(text).with_version(versions::of_written(&written)))
}
