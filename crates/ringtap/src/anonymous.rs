//! Frames of calls without what names anybody, made anew around what an engine finds in them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use ringtap_anonymise::{Frames, Key, Mask, MediaMask, TooLong};
use ringtap_engine::{Config, RtcpSeen, RtpSeen, Sink, SipSeen, StreamEnd};
use ringtap_export::engine::run;
use ringtap_model::{Call, Endpoint, Frame, LinkType, Message, Nanos, Registration};
use ringtap_wire::frame::{Payload, decode};
use ringtap_wire::sdp::Sdp;

use crate::exit::Misuse;

/// Whether, and how.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Without names")]
pub(crate) struct Anonymise {
    /// Replace numbers, names, hosts and addresses, each by the same everywhere; voices become silence,
    /// dialled digits 0
    #[arg(long)]
    pub(crate) anonymise: bool,
    #[command(flatten)]
    pub(crate) how: Naming,
}

/// How names are replaced.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Without names")]
pub(crate) struct Naming {
    /// A file with a secret of 16 bytes or more: the same secret gives the same names in every export, and
    /// whoever has it can find them out again. Without it, each run has a secret of its own that nobody keeps
    #[arg(long, value_name = "FILE")]
    pub(crate) anonymise_key: Option<PathBuf>,
    /// Leave the voices in: people are known by them
    #[arg(long)]
    pub(crate) keep_voice: bool,
}

impl Anonymise {
    /// What replaces, where it is wanted.
    pub(crate) fn mask(&self) -> anyhow::Result<Option<Mask>> {
        if !self.anonymise && (self.how.anonymise_key.is_some() || self.how.keep_voice) {
            bail!(Misuse("`--anonymise-key` and `--keep-voice` go with `--anonymise`".to_owned()));
        }
        self.anonymise.then(|| self.how.mask()).transpose()
    }
}

impl Naming {
    /// What replaces.
    pub(crate) fn mask(&self) -> anyhow::Result<Mask> {
        let key = match &self.anonymise_key {
            Some(path) => {
                let secret = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                if secret.trim_ascii().len() < SECRET {
                    bail!(
                        "the secret in `{}` has fewer than {SECRET} bytes; \
                         make one with `head -c 32 /dev/urandom > {}`",
                        path.display(),
                        path.display()
                    );
                }
                Key::of_secret(&secret)
            }
            None => {
                let mut key = [0; 32];
                let random = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
                random.context("cannot read /dev/urandom")?;
                Key(key)
            }
        };
        Ok(Mask::new(&key))
    }
}

/// Frames that name nobody.
#[derive(Default)]
pub(crate) struct Anonymous {
    frames: Vec<(Nanos, Vec<u8>)>,
    /// Messages and packets that fit into no datagram.
    pub(crate) left_out: u64,
}

impl Anonymous {
    /// Of the signalling and media in `frames`; whatever else is in them is left out.
    pub(crate) fn of(frames: &[Frame<'_>], mask: &mut Mask, keep_voice: bool, config: &Config) -> Self {
        let frames: Vec<Frame<'_>> =
            frames.iter().zip(1..).map(|(frame, number)| Frame { number, ..*frame }).collect();
        let mut known = Known::default();
        run(&frames, config, &mut known);
        let mut anonymous = Self::default();
        let mut veil =
            Veil { frames: &frames, mask, keep_voice, known, wire: Frames::default(), to: &mut anonymous };
        run(&frames, config, &mut veil);
        anonymous
    }

    /// In order.
    pub(crate) fn frames(&self) -> Vec<Frame<'_>> {
        self.frames
            .iter()
            .zip(1..)
            .map(|((time, data), number)| Frame {
                time: *time,
                number,
                link: LinkType(1),
                wire_len: data.len() as u32,
                data,
            })
            .collect()
    }
}

/// What must be known before the first packet is written: which streams are some, and which payload types are
/// digits.
#[derive(Default)]
struct Known {
    /// The payload type of most packets, by a stream's serial.
    streams: HashMap<u64, u8>,
    events: HashSet<u8>,
}

impl Known {
    fn take(&mut self, stream: &StreamEnd) {
        self.streams.insert(stream.serial, stream.record.payload_type);
    }
}

impl Sink for Known {
    const PACKETS: bool = true;

    fn call(&mut self, _: Call, streams: Vec<StreamEnd>) {
        streams.iter().for_each(|stream| self.take(stream));
    }

    fn stream(&mut self, stream: StreamEnd) {
        self.take(&stream);
    }

    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        let Some(Ok(description)) = seen.message.sdp().map(Sdp::parse) else { return };
        for media in description.media() {
            let events = media.payload_types().filter(|payload_type| {
                media
                    .rtpmap(*payload_type)
                    .is_some_and(|codec| codec.name.eq_ignore_ascii_case(b"telephone-event"))
            });
            self.events.extend(events);
        }
    }
}

struct Veil<'a> {
    frames: &'a [Frame<'a>],
    mask: &'a mut Mask,
    keep_voice: bool,
    known: Known,
    wire: Frames,
    to: &'a mut Anonymous,
}

impl Veil<'_> {
    fn push(&mut self, time: Nanos, frame: Result<Vec<u8>, TooLong>) {
        match frame {
            Ok(frame) => self.to.frames.push((time, frame)),
            Err(TooLong) => self.to.left_out += 1,
        }
    }

    fn ends(&mut self, src: Endpoint, dst: Endpoint) -> (Endpoint, Endpoint) {
        (self.mask.endpoint(src), self.mask.endpoint(dst))
    }

    /// Digits are told from voices by their type, and by being short: a wrong description must not let a
    /// voice pass.
    fn voice(&self, seen: &RtpSeen<'_>) -> MediaMask {
        let is_main =
            self.known.streams.get(&seen.serial) == Some(&seen.payload_type) && seen.payload.len() > 4;
        match self.known.events.contains(&seen.payload_type) && seen.payload.len() <= EVENTS && !is_main {
            true => MediaMask::Digits,
            false if self.keep_voice => MediaMask::Unchanged,
            false => MediaMask::Silenced,
        }
    }
}

impl Sink for Veil<'_> {
    const PACKETS: bool = true;

    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        let message = self.mask.sip(seen.message);
        let (src, dst) = self.ends(seen.src, seen.dst);
        match self.wire.message(seen.transport, src, dst, &message) {
            Ok(frames) => frames.into_iter().for_each(|frame| self.push(seen.time, Ok(frame))),
            Err(error) => self.push(seen.time, Err(error)),
        }
    }

    fn rtp(&mut self, seen: &RtpSeen<'_>) {
        if !self.known.streams.contains_key(&seen.serial) {
            return;
        }
        let (packet, len) = match (seen.packet, seen.frames) {
            (Some(packet), _) => (packet, packet.len()),
            (None, [number]) => {
                let Some(frame) = self.frames.get(*number as usize - 1) else { return };
                let Ok(decoded) = decode(frame.link.0, frame.wire_len, frame.data) else { return };
                let Payload::Udp(udp) = decoded.payload else { return };
                (udp.data, udp.len)
            }
            _ => return,
        };
        let voice = self.voice(seen);
        let Some(packet) = self.mask.rtp(packet, len, voice) else { return };
        let (src, dst) = self.ends(seen.src, seen.dst);
        let frame = self.wire.udp(src, dst, &packet);
        self.push(seen.time, frame);
    }

    fn rtcp(&mut self, seen: &RtcpSeen<'_>) {
        if !self.known.streams.contains_key(&seen.serial) {
            return;
        }
        let reports = self.mask.rtcp(seen.data);
        let (src, dst) = self.ends(seen.src, seen.dst);
        let frame = self.wire.udp(src, dst, &reports);
        self.push(seen.time, frame);
    }
}

/// A secret that is worth the name.
const SECRET: usize = 16;
/// The longest payload of telephone events: three of them.
const EVENTS: usize = 12;
