//! Ends holds.

use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::retain::deletion_lock::{DeletionLock, HOLDS};
use crate::retain::hold::Hold;
use crate::retain::holds::Holds;
use crate::retain::rescue::prune;

/// Ends holds for a case: all of them, or those of a call by its Call-ID or id; of interception product, or
/// of ordinary recordings. Returns the holds that have ended.
///
/// Chunks that nothing holds any more expire as usual, and copies of them are deleted at once. But a signed
/// copy that still holds other chunks needs the signing key: the janitor rewrites it.
///
/// # Errors
///
/// A file cannot be read or deleted.
pub fn release(dir: &Path, case: &str, call: Option<&str>, product: bool) -> Result<Vec<Hold>, Error> {
    let _lock = DeletionLock::wait(dir)?;
    let of_call = |hold: &Hold| {
        hold.product == product && call.is_none_or(|call| hold.id == call || hold.call_id == call)
    };
    let (released, remaining): (Vec<Hold>, Vec<Hold>) =
        Holds::read(dir)?.into_all().into_iter().partition(|hold| hold.case == case && of_call(hold));
    for hold in &released {
        let path = hold.path(dir);
        fs::remove_file(&path).map_err(|error| Error::io(&path, "deleted", error))?;
    }
    if !remaining.iter().any(|hold| hold.case == case) {
        // Other files in the directory are not ours.
        let _ = fs::remove_dir(dir.join(HOLDS).join(case));
    }
    if !released.is_empty() {
        prune(dir, &Holds::of(remaining), None)?;
    }
    Ok(released)
}

#[cfg(test)]
mod tests {
    use ringtap_model::Nanos;

    use super::*;
    use crate::retain::hold::HeldRange;
    use crate::segment::name::Category;

    fn hold(case: &str, id: &str, owner: u64) -> Hold {
        Hold {
            case: case.into(),
            id: id.into(),
            call_id: format!("{id}@example.org"),
            since: 5,
            parts: vec![HeldRange { owner, from: 100, to: 200 }],
            pending: None,
            product: false,
        }
    }

    #[test]
    fn holds_are_files_that_others_read() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Holds::read(dir.path()).unwrap(), Holds::default());
        let all = [hold("a-1", "77", u64::MAX), hold("a-1", "78", 2), hold("b", "77", u64::MAX)];
        all.iter().for_each(|hold| hold.save(dir.path()).unwrap());
        // Setting a hold twice is no error.
        all[0].save(dir.path()).unwrap();
        let holds = Holds::read(dir.path()).unwrap();
        assert_eq!((holds.all(), holds.calls()), (&all[..], 2));
        let held = |owner, from, to| holds.is_held(Category::Media, owner, Nanos(from), Nanos(to));
        assert!(held(2, 200, 300) && held(2, 0, 100) && held(u64::MAX, 150, 150));
        assert!(!held(2, 201, 300) && !held(2, 0, 99) && !held(3, 150, 150));
        // A hold of its product has the same name.
        assert!(!holds.is_held(Category::Product, 2, Nanos(150), Nanos(150)));
        let product = Hold { product: true, ..all[1].clone() };
        product.save(dir.path()).unwrap();
        let both = Holds::read(dir.path()).unwrap();
        assert!(both.is_held(Category::Product, 2, Nanos(150), Nanos(150)));
        assert_eq!((both.holding(true, 2, Nanos(150), Nanos(150)), both.calls()), (Some(&product), 2));
        assert_eq!(release(dir.path(), "a-1", None, true).unwrap(), [product]);
        assert_eq!(Holds::read(dir.path()).unwrap(), holds);
        // Two cases hold one call: it is held until both have ended.
        assert_eq!(release(dir.path(), "a-1", Some("77@example.org"), false).unwrap(), [all[0].clone()]);
        assert!(Holds::read(dir.path()).unwrap().is_held(
            Category::Signalling,
            u64::MAX,
            Nanos(100),
            Nanos(100)
        ));
        assert_eq!(release(dir.path(), "b", None, false).unwrap(), [all[2].clone()]);
        assert_eq!(release(dir.path(), "b", None, false).unwrap(), []);
        assert_eq!(Holds::read(dir.path()).unwrap().all(), [all[1].clone()]);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["", "..", ".x", "a/b", "a b", &"x".repeat(65)] {
            let error = hold(name, "1", 1).save(dir.path()).unwrap_err().to_string();
            assert!(error.contains("letters"), "{error}");
        }
        hold("a", "1", 1).save(dir.path()).unwrap();
        fs::write(dir.path().join("holds/a/2.json"), "{}").unwrap();
        let error = Holds::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("holds/a/2.json") && error.contains("nothing is deleted"), "{error}");
    }
}
