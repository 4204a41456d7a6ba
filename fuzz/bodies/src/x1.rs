//! Requests of X1.

use ringtap_x1::read_and_print;

/// A request is read or refused, whatever it asks for; what is printed of it is read as the same.
pub fn x1(bytes: &[u8]) {
    let Ok(printed) = read_and_print(bytes) else { return };
    assert_eq!(read_and_print(printed.as_bytes()).as_ref(), Ok(&printed), "printed as it is read");
}
