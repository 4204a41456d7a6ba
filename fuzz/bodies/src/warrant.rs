//! Targets of warrants, and lines of their register.

use ringtap_warrant::{ActLine, Liid, LineFlaw, Name, PublicKey, Target, TargetIndex};

/// A target from any text is printed as it is read; it and any name can be looked for.
pub fn target(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let Ok(target) = lines.next().unwrap_or_default().parse::<Target>() else { return };
    let printed = target.text();
    assert_eq!(printed.parse(), Ok(target.clone()), "printed as it is read");
    let Ok(liid) = "L1".parse::<Liid>() else { return };
    let index = TargetIndex::new([(&target, &liid)]);
    assert_eq!(index.networks().count(), usize::from(target.network().is_some()));
    let own = printed.split_once(':').map_or("", |(_, value)| value);
    if !own.contains('*') && target.network().is_none() {
        let names = [
            Name::User(own),
            Name::Calling(own),
            Name::Called(own),
            Name::Mac(own),
            Name::Imsi(own),
            Name::Msisdn(own),
            Name::Imei(own),
            Name::Sip(own),
        ];
        assert_eq!(index.find(names), [&liid], "found by its own name");
    }
    for name in lines {
        let _ = index.find([Name::User(name), Name::Calling(name), Name::Sip(name), Name::Mac(name)]);
    }
}

/// A line of a register is read or refused; nobody has signed it but who did.
pub fn acts(bytes: &[u8]) {
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match ActLine::parse(line) {
            Ok(parsed) => {
                assert!(line.ends_with(b"\n"));
                assert!(!parsed.is_by(&PublicKey([1; 32])));
                let _ = parsed.number();
                // Its hash covers what is before it.
                let mut changed = line.to_vec();
                changed[0] ^= 1;
                assert!(ActLine::parse(&changed).is_err());
            }
            Err(LineFlaw::NotAnAct | LineFlaw::Changed) => {}
        }
    }
}
