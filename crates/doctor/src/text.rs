//! Numbers, sizes and words as text: for people, for the kernel, for a shell.

/// A list of CPUs in the kernel's format: `0-3,8`.
pub(crate) fn list(numbers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let range = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

/// Quotes a word for a shell: an interface or a directory may have any name.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./@:+%,".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// `512 KiB`, `1.5 GiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit == 0 || value >= 100.0 || value.fract() < 0.05 {
        true => format!("{value:.0} {}", UNITS[unit]),
        false => format!("{value:.1} {}", UNITS[unit]),
    }
}

/// A part of a whole in percent.
pub(crate) fn share(part: u64, whole: u64) -> String {
    ringtap_report::calls::percent(Some(part as f64 * 100.0 / whole.max(1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_people_and_shells() {
        assert_eq!(list(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(list(&[]), "");
        assert_eq!(quoted("eth0.100"), "eth0.100");
        assert_eq!(quoted("$(reboot)"), "'$(reboot)'");
        assert_eq!(quoted("a'b"), r"'a'\''b'");
        assert_eq!(quoted("-rf"), "'-rf'");
        assert_eq!(
            (bytes(512), bytes(1536), bytes(8 << 20)),
            ("512 bytes".into(), "1.5 KiB".into(), "8 MiB".into())
        );
    }
}
