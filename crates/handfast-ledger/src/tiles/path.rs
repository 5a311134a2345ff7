//! Names of tiles.

/// `tile/<L>/<N>`, with `.p/<W>` for a partial tile; a width of 256 is a full one.
#[must_use]
pub fn tile_path(level: u32, index: u64, width: u64) -> String {
    format!("tile/{level}/{}", number(index, width))
}

/// `tile/entries/<N>`, with `.p/<W>` for a partial bundle.
#[must_use]
pub fn bundle_path(index: u64, width: u64) -> String {
    format!("tile/entries/{}", number(index, width))
}

/// Groups of three digits, all but the last with an `x`.
fn number(index: u64, width: u64) -> String {
    let mut text = format!("{:03}", index % 1000);
    let mut rest = index / 1000;
    while rest > 0 {
        text = format!("x{:03}/{text}", rest % 1000);
        rest /= 1000;
    }
    if width < super::WIDTH {
        text.push_str(&format!(".p/{width}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_in_the_specification() {
        assert_eq!(tile_path(0, 1_234_067, 256), "tile/0/x001/x234/067");
        assert_eq!(tile_path(1, 0, 17), "tile/1/000.p/17");
        assert_eq!(bundle_path(273, 112), "tile/entries/273.p/112");
        assert_eq!(bundle_path(1000, 256), "tile/entries/x001/000");
    }
}
