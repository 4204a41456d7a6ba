//! What is known of a SIP message: small and owned, so that another thread can follow services.

use std::hash::{BuildHasher, RandomState};

use ringtap_engine::SipMessage;
use ringtap_model::{Endpoint, Nanos, Transport};
use ringtap_wire::sip::{Message, Method, StartLine};

use crate::call_seen::{CallSeen, user_key};
use crate::evidence::Mac;

/// Contacts of a REGISTER that are looked at. Telephones register one, or a few.
const CONTACTS: usize = 16;

/// Makes observations of the messages of one engine. Those of several engines go to one [`Monitor`] only
/// where they are made with the keys of the same observer: see [`Observer::of_another_engine`].
///
/// [`Monitor`]: crate::Monitor
#[derive(Clone, Debug, Default)]
pub struct Observer {
    /// Keyed: nobody can choose messages that collide.
    pub(crate) hasher: RandomState,
    drops: u64,
}

/// What services, and what their failovers did to calls, are judged by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Capture time of its last frame.
    pub time: Nanos,
    /// Number of its last frame: the order among those of the same time.
    pub frame: u64,
    /// Packets were lost since the last observation of the same engine.
    pub lost: bool,
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    /// Of an answer, the host on the link that it came from, where that is known.
    pub(crate) sender: Option<Mac>,
    pub(crate) transport: Transport,
    pub(crate) method: Method,
    /// Status code of a response.
    pub(crate) code: Option<u16>,
    /// A request inside a dialog.
    pub(crate) is_in_dialog: bool,
    /// What a request and its answers have in common (RFC 3261 section 17.1.3), and the service: a request
    /// that was captured on both sides of an address translation is two.
    pub(crate) transaction: u64,
    /// The call, and who sends its INVITE: the same of its answers.
    pub(crate) attempt: u64,
    /// The address of record in To, of 200 to REGISTER and 404 to INVITE.
    pub(crate) user: Option<u64>,
    /// Of an answer 200 to REGISTER: seconds for which the user has a contact; none has 0.
    pub(crate) expires: Option<u32>,
    /// A REGISTER that came from the telephone itself, not from a proxy.
    pub(crate) is_first_hop: bool,
    /// Addresses that a REGISTER names.
    pub(crate) contacts: Box<[Endpoint]>,
    /// Who registers by a REGISTER.
    pub(crate) registering: Option<u64>,
    /// Of a message of a call.
    pub(crate) of_call: Option<CallSeen>,
}

impl Observation {
    /// Of a message. `drops`: packets known to be lost by the capture and the engine so far.
    pub fn of(sip: &SipMessage<'_>, drops: u64, observer: &mut Observer) -> Self {
        let lost = drops > observer.drops;
        observer.drops = drops;
        let code = match sip.message.start() {
            StartLine::Request { .. } => None,
            StartLine::Response { code, .. } => Some(code),
        };
        let (service, client) = match code {
            None => (sip.hop.dst, sip.hop.src),
            Some(_) => (sip.hop.src, sip.hop.dst),
        };
        let is_register = sip.method == Method::Register;
        let names_user =
            matches!((sip.method, code), (Method::Register, Some(200)) | (Method::Invite, Some(404)));
        let contacts = if is_register && code.is_none() { contacts(sip.message) } else { Box::default() };
        let tag = sip.message.from_tag().flatten().unwrap_or_default();
        let branch = sip.message.top_branch().unwrap_or_default();
        let number = sip.cseq.map_or(0, |(number, _)| number);
        let hash = |what: (&[u8], u32, Method, Endpoint)| observer.hasher.hash_one((what, sip.call_id));
        Self {
            time: sip.hop.time,
            frame: sip.frames.last().copied().unwrap_or_default(),
            lost,
            src: sip.hop.src,
            dst: sip.hop.dst,
            sender: sip.hop.sender.filter(|_| code.is_some()).map(Mac),
            transport: sip.hop.transport,
            method: sip.method,
            code,
            is_in_dialog: sip.message.to().is_some_and(|to| to.tag().is_some()),
            transaction: hash((branch, number, sip.method, service)),
            attempt: observer.hasher.hash_one((sip.call_id, tag, client.ip)),
            user: if names_user { user(sip.message, &observer.hasher) } else { None },
            expires: (is_register && code == Some(200)).then(|| expires(sip.message)),
            is_first_hop: is_register && code.is_none() && sip.message.vias().count() == 1,
            contacts,
            registering: if is_register && code.is_none() {
                registering(sip, &observer.hasher)
            } else {
                None
            },
            of_call: CallSeen::of(sip, &observer.hasher),
        }
    }
}

impl Observer {
    /// One for a further engine.
    pub fn of_another_engine(&self) -> Self {
        Self { hasher: self.hasher.clone(), drops: 0 }
    }
}

fn registering(sip: &SipMessage<'_>, hasher: &RandomState) -> Option<u64> {
    let to = sip.message.to()?;
    user_key(to.uri.user, Some(to.uri.host), hasher)
}

fn contacts(message: &Message<'_>) -> Box<[Endpoint]> {
    let endpoints = message.contacts().take(CONTACTS).filter_map(|contact| {
        let port = contact.uri.port.unwrap_or(5060);
        Some(Endpoint::new(contact.uri.ip()?, port))
    });
    endpoints.collect()
}

fn user(message: &Message<'_>, hasher: &RandomState) -> Option<u64> {
    let to = message.to()?;
    Some(hasher.hash_one((to.uri.user?, to.uri.host.to_ascii_lowercase())))
}

fn expires(message: &Message<'_>) -> u32 {
    let of_contacts = message.contacts().filter_map(|contact| number(contact.param(b"expires")?)).max();
    let is_bound = message.contacts().next().is_some();
    of_contacts.or(message.expires()).filter(|_| is_bound).unwrap_or(0)
}

fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}
