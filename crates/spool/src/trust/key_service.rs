//! The process that holds the master key and the signing key; see `remote_keys` for what it is asked.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use ringtap_model::Nanos;
use zeroize::Zeroizing;

use crate::frame;
use crate::trust::keys::{self, Bytes, ROW, Unwrapped};
use crate::trust::master_key::MasterKey;
use crate::trust::remote_keys::{ANSWER, CLOSE, KEY, OPEN, REFUSAL, SESSION, SIGN, VERSION, WHO};
use crate::trust::sign::Signer;

/// The keys that a process holds for another one.
#[derive(Debug)]
pub struct KeyService {
    master: Option<MasterKey>,
    signer: Option<Signer>,
    /// Whether keys on the disk may still be opened.
    recovering: AtomicBool,
}

impl KeyService {
    /// Of these keys.
    pub fn new(master: Option<MasterKey>, signer: Option<Signer>) -> Self {
        Self { master, signer, recovering: AtomicBool::new(true) }
    }

    /// Answers the questions of a connection until it ends.
    ///
    /// # Errors
    ///
    /// The connection fails, or the other side does not keep to the protocol.
    pub fn serve(&self, mut connection: impl Read + Write) -> io::Result<()> {
        let (mut question, mut wrapper) = (Zeroizing::new(Vec::new()), None);
        while let Some(kind) = frame::read(&mut connection, &mut question)? {
            match self.answer(kind, &question, &mut wrapper) {
                Ok(answer) => frame::write(&mut connection, ANSWER, &[&answer])?,
                Err(why) => frame::write(&mut connection, REFUSAL, &[why.as_bytes()])?,
            }
        }
        Ok(())
    }

    fn answer(
        &self,
        kind: u8,
        question: &[u8],
        wrapper: &mut Option<keys::Wrapper>,
    ) -> Result<Zeroizing<Vec<u8>>, String> {
        const MALFORMED: &str = "the question is malformed";
        let master = || self.master.as_ref().ok_or("there is no master key");
        let mut answer = Zeroizing::new(Vec::with_capacity(256));
        match (kind, question) {
            (WHO, [VERSION]) => {
                answer.push(u8::from(self.master.is_some()) | u8::from(self.signer.is_some()) << 1);
                answer.extend(self.master.as_ref().map_or([0; 16], MasterKey::id));
                answer.extend(self.signer.as_ref().map_or([0; 32], |signer| signer.public().0));
            }
            (WHO, _) => return Err("it is another version of ringtap: restart it".to_owned()),
            (SESSION, []) => {
                let made = keys::Wrapper::new(master()?).map_err(|error| error.to_string())?;
                answer.extend(wrapper.insert(made).header());
            }
            (KEY, question) => {
                let (owner, at) = question.split_first_chunk::<8>().ok_or(MALFORMED)?;
                let at = Nanos(u64::from_le_bytes(at.try_into().map_err(|_| MALFORMED)?));
                let wrapper = wrapper.as_mut().ok_or("no session was begun")?;
                let made = wrapper.make(u64::from_le_bytes(*owner), at);
                let (key, row) = made.ok_or("the system has no randomness")?;
                answer.extend_from_slice(&key[..]);
                answer.extend_from_slice(&row);
            }
            (OPEN, question) => {
                if !self.recovering.load(Ordering::Relaxed) {
                    return Err("keys are opened only while ringtap starts".to_owned());
                }
                let (header, row) = question.split_first_chunk::<ROW>().ok_or(MALFORMED)?;
                let row: &Bytes = row.try_into().map_err(|_| MALFORMED)?;
                let opened = keys::unwrap(header, row, std::slice::from_ref(master()?));
                match opened.map_err(|error| error.to_string())? {
                    Unwrapped::Key(key) => {
                        answer.push(1);
                        answer.extend_from_slice(&key[..]);
                    }
                    Unwrapped::Locked => answer.push(2),
                    Unwrapped::Damaged => answer.push(3),
                }
            }
            (SIGN, text) => {
                let text = std::str::from_utf8(text).map_err(|_| MALFORMED)?;
                let signer = self.signer.as_ref().ok_or("there is no signing key")?;
                answer.extend(signer.sign(text).map_err(|error| error.to_string())?);
            }
            (CLOSE, []) => self.recovering.store(false, Ordering::Relaxed),
            _ => return Err(MALFORMED.to_owned()),
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::thread;

    use super::*;
    use crate::trust::remote_keys::RemoteKeys;

    fn remote(service: KeyService) -> RemoteKeys {
        let service = Arc::new(service);
        let connect = move || {
            let (ours, theirs) = UnixStream::pair()?;
            let service = Arc::clone(&service);
            thread::spawn(move || service.serve(theirs));
            Ok(ours)
        };
        RemoteKeys::open(connect).unwrap()
    }

    #[test]
    fn keys_in_another_process_do_what_keys_here_do() {
        let (master, signer) = (MasterKey::of([7; 32]), Signer::of(&[3; 32]));
        let keys = remote(KeyService::new(Some(master.clone()), Some(signer.clone())));
        let far = MasterKey::of_process(&keys).unwrap();
        let far_signer = Signer::of_process(&keys).unwrap();
        assert_eq!((far.id(), far_signer.public()), (master.id(), signer.public()));
        assert_eq!(far_signer.sign("text").unwrap(), signer.sign("text").unwrap());
        let mut wrapper = keys::Wrapper::new(&far).unwrap();
        let (key, row) = wrapper.make(5, Nanos(9)).unwrap();
        let open = |master: &MasterKey| keys::unwrap(wrapper.header(), &row, std::slice::from_ref(master));
        assert!(matches!(open(&master), Ok(Unwrapped::Key(it)) if it == key));
        assert!(matches!(open(&far), Ok(Unwrapped::Key(it)) if it == key));
        // Two writers never wrap under one salt.
        assert_ne!(keys::Wrapper::new(&far).unwrap().header(), wrapper.header());
        keys.end_recovery().unwrap();
        assert!(open(&far).is_err(), "after the start, no key is opened");
        assert!(wrapper.make(6, Nanos(9)).is_some());
    }

    #[test]
    fn what_is_not_there_and_what_is_malformed_is_refused() {
        let keys = remote(KeyService::new(None, None));
        assert!(keys.master().is_none() && keys.signer().is_none());
        for (kind, question) in [(WHO, &[9][..]), (SESSION, &[]), (KEY, &[0; 16]), (OPEN, &[0; 192])] {
            assert!(keys.ask(kind, &[question]).is_err(), "{kind}");
        }
        for (kind, question) in [(SIGN, &b"x"[..]), (SIGN, &[0xff]), (CLOSE, &[1]), (0, &[]), (77, &[1])] {
            assert!(keys.ask(kind, &[question]).is_err(), "{kind}");
        }
        let service = KeyService::new(None, None);
        for length in [0_u32, u32::MAX, frame::LONGEST as u32 + 1] {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            ours.write_all(&length.to_le_bytes()).unwrap();
            ours.write_all(&[WHO]).unwrap();
            assert!(service.serve(theirs).is_err(), "{length}");
        }
        // An announced length that never comes takes no memory and ends with the connection.
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(&(1_u32 << 20).to_le_bytes()).and_then(|()| ours.write_all(&[SIGN])).unwrap();
        drop(ours);
        assert!(service.serve(theirs).is_err());
    }

    /// `cargo test --release -p ringtap-spool -- --ignored --nocapture what_another_process_costs`
    #[test]
    #[ignore = "prints a figure; nothing can fail"]
    fn what_another_process_costs() {
        let (master, signer) = (MasterKey::of([7; 32]), Signer::of(&[3; 32]));
        let keys = remote(KeyService::new(Some(master.clone()), Some(signer.clone())));
        let far = (MasterKey::of_process(&keys).unwrap(), Signer::of_process(&keys).unwrap());
        for (place, (master, signer)) in [("in this process", (master, signer)), ("over a socket", far)] {
            let mut wrapper = keys::Wrapper::new(&master).unwrap();
            let rate = |step: &mut dyn FnMut(u64)| {
                let (begun, mut count) = (std::time::Instant::now(), 0);
                while begun.elapsed().as_secs() < 2 {
                    (0..100).for_each(|_| step(count));
                    count += 100;
                }
                count as f64 / begun.elapsed().as_secs_f64()
            };
            let text = "x".repeat(700);
            let seals = rate(&mut |_| assert!(signer.sign(&text).is_ok()));
            let made = rate(&mut |number| assert!(wrapper.make(number, Nanos(number)).is_some()));
            println!("{place}: {seals:.0} signatures/s, {made:.0} keys/s");
        }
    }
}
