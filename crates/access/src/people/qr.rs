//! QR codes (ISO/IEC 18004), for a phone's camera.

use std::fmt::Write;

use qrcodegen::{QrCode, QrCodeEcc};
use zeroize::Zeroizing;

/// As an SVG image: black on white whatever the page around it is, with the margin of 4 modules that readers
/// expect. Empty for a text that no QR code holds: those of 2,331 bytes and more.
pub(crate) fn svg(text: &str) -> Zeroizing<String> {
    let mut image = Zeroizing::new(String::new());
    let Ok(code) = QrCode::encode_text(text, QrCodeEcc::Medium) else { return image };
    let side = code.size() + 2 * MARGIN;
    // Writing to a text does not fail.
    let _ = write!(
        image,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\" \
         shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/><path d=\""
    );
    for y in 0..code.size() {
        for x in (0..code.size()).filter(|x| code.get_module(*x, y)) {
            let _ = write!(image, "M{} {}h1v1h-1z", x + MARGIN, y + MARGIN);
        }
    }
    image.push_str("\"/></svg>");
    image
}

/// As lines of a terminal, two rows of modules in each, with escapes that make it black on white. Empty as
/// with [`svg`].
pub(crate) fn lines(text: &str) -> Zeroizing<String> {
    let mut drawn = Zeroizing::new(String::new());
    let Ok(code) = QrCode::encode_text(text, QrCodeEcc::Medium) else { return drawn };
    let end = code.size() + MARGIN;
    for y in (-MARGIN..end).step_by(2) {
        drawn.push_str(BLACK_ON_WHITE);
        for x in -MARGIN..end {
            // Outside of it, everything is white.
            drawn.push(match (code.get_module(x, y), code.get_module(x, y + 1)) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            });
        }
        drawn.push_str(RESET);
        drawn.push('\n');
    }
    drawn
}

/// White modules on each side (ISO/IEC 18004 section 6.3.8).
const MARGIN: i32 = 4;
const BLACK_ON_WHITE: &str = "\x1b[30;107m";
const RESET: &str = "\x1b[0m";

#[cfg(test)]
mod tests {
    use super::*;

    const URI: &str = "otpauth://totp/ringtap:ana?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=ringtap";

    /// The finder patterns (section 6.3.3) stand in three corners of both drawings: rows of 7 dark modules.
    #[test]
    fn both_drawings_show_the_same_code() {
        let code = QrCode::encode_text(URI, QrCodeEcc::Medium).unwrap();
        let (image, text) = (svg(URI), lines(URI));
        let rows: Vec<Vec<char>> = text
            .lines()
            .map(|line| {
                let modules = line.strip_prefix(BLACK_ON_WHITE).and_then(|line| line.strip_suffix(RESET));
                modules.unwrap().chars().collect()
            })
            .collect();
        let mut dark = 0;
        for y in 0..code.size() {
            for x in 0..code.size() {
                let is_dark = code.get_module(x, y);
                let drawn = image.contains(&format!("M{} {}h1v1h-1z", x + MARGIN, y + MARGIN));
                assert_eq!(drawn, is_dark, "{x} {y} of the image");
                let (row, column) = (y + MARGIN, x + MARGIN);
                let halves = if row % 2 == 0 { ['█', '▀'] } else { ['█', '▄'] };
                assert_eq!(halves.contains(&rows[row as usize / 2][column as usize]), is_dark, "{x} {y}");
                dark += i32::from(is_dark);
            }
        }
        assert!(dark > 200, "{dark}");
        for corner in [(0, 0), (code.size() - 7, 0), (0, code.size() - 7)] {
            assert!((0..7).all(|x| code.get_module(corner.0 + x, corner.1)), "{corner:?}");
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_not_drawn() {
        let long = "a".repeat(3_000);
        assert!(svg(&long).is_empty() && lines(&long).is_empty());
    }
}
