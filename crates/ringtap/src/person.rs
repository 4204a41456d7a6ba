//! Who runs a command.

/// Who does something, for the record: as they say, else whoever became root, else the user.
pub(crate) fn person(named: Option<String>) -> String {
    let of = |name: &str| std::env::var(name).ok().filter(|name| !name.is_empty());
    named.or_else(|| of("SUDO_USER")).or_else(|| of("USER")).unwrap_or_default()
}
