//! Documents of any bytes.

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Any bytes are a document or none, and what is printed is read as the same.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(printed) = ringtap_x1::read_and_print(&bytes) {
            prop_assert_eq!(ringtap_x1::read_and_print(printed.as_bytes()), Ok(printed));
        }
    }

    /// So is what looks like XML.
    #[test]
    fn what_is_printed_is_read_as_the_same(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("<a>"), Just("</a>"), Just("<b c='1'/>"), Just("<c:b xmlns:c='d'>"), Just("</c:b>"),
                Just("&amp;"), Just("&#13;"), Just("&x;"), Just("<![CDATA[<&]]>"), Just("<!-- - -->"),
                Just("<a xmlns='http://uri.etsi.org/03221/X1/2017/10'>"), Just("<?p?>"), Just("\r\n"),
                Just("é"), Just(" t "),
            ],
            0..12,
        )
    ) {
        let text = format!("<a>{}</a>", parts.concat());
        if let Ok(printed) = ringtap_x1::read_and_print(text.as_bytes()) {
            prop_assert_eq!(ringtap_x1::read_and_print(printed.as_bytes()), Ok(printed));
        }
    }
}
