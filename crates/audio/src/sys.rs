//! Codec libraries, loaded at run time.
//!
//! The only unsafe code of this crate. It runs in a process of its own (see [`crate::remote`]): a library
//! that fails on hostile bytes ends only that process.
#![allow(unsafe_code, reason = "calls into C libraries")]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::ptr::NonNull;

use crate::decode::opus_samples;
use crate::decode::{Width, amr_frames};
use crate::{Codec, EncoderSettings};

/// Largest Opus packet: two frames, each with its length (RFC 6716 section 3.4 and appendix B).
pub(crate) const LARGEST_PACKET: usize = 2 * (1 + 2 + 1_275);

/// A loaded library, which stays loaded until the process ends.
#[derive(Clone, Copy)]
struct Library(NonNull<c_void>);

impl Library {
    fn open(name: &CStr) -> Option<Self> {
        // SAFETY: the name ends with a zero byte. Whatever the library's constructors do, the process is
        // confined.
        NonNull::new(unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }).map(Self)
    }

    /// Looks up a function.
    ///
    /// # Safety
    ///
    /// `F` is a function pointer of the type that the library's header declares for this name.
    unsafe fn function<F: Copy>(self, name: &CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the handle is open and the name ends with a zero byte.
        let found = unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) };
        // SAFETY: not null, of the size of a pointer, and of that type by the promise of the caller.
        (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
    }
}

/// A decoder of a library.
pub(crate) enum Native {
    Amr(Amr),
    Opus(Opus),
    Ilbc(Ilbc),
    Avcodec(Avcodec),
}

impl Native {
    /// The decoder of a codec; `None` if its library is missing or has another version.
    pub(crate) fn open(codec: Codec, rate: u32) -> Option<Self> {
        match codec {
            Codec::AmrNb => Amr::open(Width::Narrow).map(Self::Amr),
            Codec::AmrWb => Amr::open(Width::Wide).map(Self::Amr),
            Codec::Opus => Opus::open(rate).map(Self::Opus),
            Codec::Ilbc => Ilbc::open().map(Self::Ilbc).or_else(|| Avcodec::open().map(Self::Avcodec)),
            _ => None,
        }
    }

    /// Decodes a payload and appends its samples.
    pub(crate) fn packet(&mut self, payload: &[u8], out: &mut Vec<i16>) {
        match self {
            Self::Amr(decoder) => decoder.packet(payload, out),
            Self::Opus(decoder) => decoder.packet(payload, out),
            Self::Ilbc(decoder) => decoder.packet(payload, out),
            Self::Avcodec(decoder) => decoder.packet(payload, out),
        }
    }

    /// Appends about as many samples to conceal the loss before `next`.
    pub(crate) fn lost(&mut self, samples: usize, next: Option<&[u8]>, out: &mut Vec<i16>) {
        let end = out.len() + samples;
        while out.len() < end {
            let before = out.len();
            match self {
                Self::Amr(decoder) => decoder.lost(out),
                Self::Opus(decoder) => decoder.lost(end - out.len(), next, out),
                Self::Ilbc(decoder) => decoder.lost(out),
                Self::Avcodec(decoder) => decoder.lost(out),
            }
            if out.len() == before {
                break;
            }
        }
    }
}

type AmrDecode = unsafe extern "C" fn(*mut c_void, *const c_uchar, *mut i16, c_int);

/// libopencore-amrnb and libopencore-amrwb.
pub(crate) struct Amr {
    width: Width,
    state: NonNull<c_void>,
    decode: AmrDecode,
}

impl Amr {
    fn open(width: Width) -> Option<Self> {
        let (library, init, decode) = match width {
            Width::Narrow => {
                (c"libopencore-amrnb.so.0", c"Decoder_Interface_init", c"Decoder_Interface_Decode")
            }
            Width::Wide => (c"libopencore-amrwb.so.0", c"D_IF_init", c"D_IF_decode"),
        };
        let library = Library::open(library)?;
        // SAFETY: the types of opencore-amrnb/interf_dec.h and opencore-amrwb/dec_if.h.
        unsafe {
            let init: unsafe extern "C" fn() -> *mut c_void = library.function(init)?;
            Some(Self { width, decode: library.function(decode)?, state: NonNull::new(init())? })
        }
    }

    fn packet(&mut self, payload: &[u8], out: &mut Vec<i16>) {
        for frame in amr_frames(self.width, payload).unwrap_or_default() {
            self.frame(&frame.bytes, out);
        }
    }

    fn lost(&mut self, out: &mut Vec<i16>) {
        // No data: the library extends and fades the last frame, or continues its comfort noise.
        self.frame(&[15 << 3], out);
    }

    fn frame(&mut self, frame: &[u8], out: &mut Vec<i16>) {
        // The longest frame has 61 bytes; the library reads as many as its type needs.
        let mut bytes = [0; 64];
        let length = frame.len().min(64);
        bytes[..length].copy_from_slice(&frame[..length]);
        let at = out.len();
        out.resize(at + if self.width == Width::Narrow { 160 } else { 320 }, 0);
        // SAFETY: the state is live, no type has more than 64 bytes, and 160 or 320 samples are written.
        unsafe { (self.decode)(self.state.as_ptr(), bytes.as_ptr(), out[at..].as_mut_ptr(), 0) };
    }
}

type OpusDecode = unsafe extern "C" fn(*mut c_void, *const c_uchar, i32, *mut i16, c_int, c_int) -> c_int;

/// libopus, mixed to mono.
pub(crate) struct Opus {
    state: NonNull<c_void>,
    decode: OpusDecode,
    /// Samples of 2.5 ms, the unit of decoding.
    grain: usize,
    /// Samples of the last packet.
    last: usize,
}

impl Opus {
    fn open(rate: u32) -> Option<Self> {
        let library = Library::open(c"libopus.so.0")?;
        let mut error = 0;
        // SAFETY: the types of opus/opus.h; the error is written to a live integer.
        unsafe {
            let create: unsafe extern "C" fn(i32, c_int, *mut c_int) -> *mut c_void =
                library.function(c"opus_decoder_create")?;
            let state = NonNull::new(create(rate as i32, 1, &raw mut error))?;
            let grain = rate as usize / 400;
            Some(Self { state, decode: library.function(c"opus_decode")?, grain, last: 8 * grain })
        }
    }

    fn packet(&mut self, payload: &[u8], out: &mut Vec<i16>) {
        let samples = opus_samples(payload).unwrap_or(0) * self.grain / 120;
        if samples > 0 {
            self.last = samples;
            self.decode(Some(payload), samples, false, out);
        }
    }

    /// The next packet may contain the lost one, as forward error correction (RFC 6716 section 2.1.7).
    fn lost(&mut self, samples: usize, next: Option<&[u8]>, out: &mut Vec<i16>) {
        let wanted = samples.div_ceil(self.grain) * self.grain;
        match next {
            Some(next) if wanted <= self.last => self.decode(Some(next), wanted, true, out),
            _ => self.decode(None, wanted.min(self.last.max(self.grain)), false, out),
        }
    }

    fn decode(&mut self, payload: Option<&[u8]>, samples: usize, fec: bool, out: &mut Vec<i16>) {
        let at = out.len();
        out.resize(at + samples, 0);
        let (data, length) =
            payload.map_or((std::ptr::null(), 0), |payload| (payload.as_ptr(), payload.len()));
        let Ok(length) = i32::try_from(length) else { return };
        // SAFETY: the state is live, the length is that of the data, and no more than `samples` are written.
        unsafe {
            (self.decode)(
                self.state.as_ptr(),
                data,
                length,
                out[at..].as_mut_ptr(),
                samples as c_int,
                fec.into(),
            );
        }
    }
}

type OpusCreate =
    unsafe extern "C" fn(i32, c_int, c_int, c_int, *const c_uchar, c_int, *mut c_int) -> *mut c_void;
type OpusControl = unsafe extern "C" fn(*mut c_void, c_int, ...) -> c_int;
type OpusEncode = unsafe extern "C" fn(*mut c_void, *const i16, c_int, *mut c_uchar, i32) -> c_int;

/// The encoder of libopus: each channel is a separate stream.
pub(crate) struct OpusEncoder {
    state: NonNull<c_void>,
    encode: OpusEncode,
    coding: EncoderSettings,
    lookahead: i32,
}

impl OpusEncoder {
    /// `None` if the library is missing or fails.
    pub(crate) fn open(coding: EncoderSettings) -> Option<Self> {
        let library = Library::open(c"libopus.so.0")?;
        let channels = c_int::from(coding.channels);
        if !(1..=2).contains(&channels) {
            return None;
        }
        let bits = i32::try_from(coding.bits).ok()?.checked_mul(channels)?;
        let (mut error, mut lookahead) = (0, 0_i32);
        // SAFETY: the types of opus/opus_multistream.h; the mapping has an entry for each channel, and what
        // is written to lives. Each request takes or gives one 32-bit integer (opus/opus_defines.h).
        unsafe {
            let create: OpusCreate = library.function(c"opus_multistream_encoder_create")?;
            let control: OpusControl = library.function(c"opus_multistream_encoder_ctl")?;
            let encode = library.function(c"opus_multistream_encode")?;
            let mapping = [0, 1];
            let rate = i32::try_from(coding.rate.0).ok()?;
            let state =
                create(rate, channels, channels, 0, mapping.as_ptr(), APPLICATION_AUDIO, &raw mut error);
            let state = NonNull::new(state)?;
            let set = [(SET_BITRATE, bits), (SET_VBR_CONSTRAINT, 0), (SET_COMPLEXITY, 10)];
            let ready = set.into_iter().all(|(request, value)| control(state.as_ptr(), request, value) == 0)
                && control(state.as_ptr(), GET_LOOKAHEAD, &raw mut lookahead) == 0;
            ready.then_some(Self { state, encode, coding, lookahead })
        }
    }

    /// Samples of each channel that the decoder outputs first.
    pub(crate) fn lookahead(&self) -> u32 {
        self.lookahead.unsigned_abs()
    }

    /// Appends for each frame the length of its packet (4 bytes, little-endian) and the packet; `None` on
    /// failure.
    pub(crate) fn encode(&mut self, samples: &[i16], out: &mut Vec<u8>) -> Option<()> {
        let frame = self.coding.frame();
        let mut packet = [0; LARGEST_PACKET];
        for samples in samples.chunks_exact(frame * usize::from(self.coding.channels)) {
            // SAFETY: the state is live, `frame` samples of each channel are read, and no more is written
            // than there is room for.
            let length = unsafe {
                (self.encode)(
                    self.state.as_ptr(),
                    samples.as_ptr(),
                    frame as c_int,
                    packet.as_mut_ptr(),
                    LARGEST_PACKET as i32,
                )
            };
            let packet = packet.get(..usize::try_from(length).ok()?)?;
            out.extend((packet.len() as u32).to_le_bytes());
            out.extend_from_slice(packet);
        }
        Some(())
    }
}

/// OPUS_APPLICATION_AUDIO and the requests of opus/opus_defines.h. The application VOIP would filter the
/// sound for intelligibility, but a recording must be faithful. The speech hint is not set either: it would
/// save a seventh of the bits at 24 kbit/s, with a coding at 8000 Hz on which ffmpeg's own decoder fails if
/// there are tones.
const APPLICATION_AUDIO: c_int = 2_049;
const SET_BITRATE: c_int = 4_002;
const SET_COMPLEXITY: c_int = 4_010;
const SET_VBR_CONSTRAINT: c_int = 4_020;
const GET_LOOKAHEAD: c_int = 4_027;

type IlbcInit = unsafe extern "C" fn(*mut c_void, i16) -> i16;
type IlbcDecode = unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut i16, *mut i16) -> c_int;
type IlbcLost = unsafe extern "C" fn(*mut c_void, *mut i16, usize) -> usize;

/// libilbc, version 3.
pub(crate) struct Ilbc {
    state: NonNull<c_void>,
    init: IlbcInit,
    decode: IlbcDecode,
    lost: IlbcLost,
    /// Bytes of a frame: 38 for 20 ms, 50 for 30 ms.
    frame: usize,
}

impl Ilbc {
    fn open() -> Option<Self> {
        let library = Library::open(c"libilbc.so.3")?;
        let mut state = std::ptr::null_mut();
        // SAFETY: the types of ilbc.h of version 3; the state is written to a live pointer.
        unsafe {
            let create: unsafe extern "C" fn(*mut *mut c_void) -> i16 =
                library.function(c"WebRtcIlbcfix_DecoderCreate")?;
            let init: IlbcInit = library.function(c"WebRtcIlbcfix_DecoderInit")?;
            let decode = library.function(c"WebRtcIlbcfix_Decode")?;
            let lost = library.function(c"WebRtcIlbcfix_DecodePlc")?;
            create(&raw mut state);
            let state = NonNull::new(state)?;
            init(state.as_ptr(), 20);
            Some(Self { state, init, decode, lost, frame: 38 })
        }
    }

    fn packet(&mut self, payload: &[u8], out: &mut Vec<i16>) {
        let frame = if payload.len().is_multiple_of(38) { 38 } else { 50 };
        if frame != self.frame {
            self.frame = frame;
            // SAFETY: the state is live; 20 and 30 are the lengths that there are.
            unsafe { (self.init)(self.state.as_ptr(), if frame == 38 { 20 } else { 30 }) };
        }
        for frame in payload.chunks_exact(self.frame) {
            let at = out.len();
            out.resize(at + self.samples(), 0);
            let mut kind = 0;
            // SAFETY: the state is live and set for frames of this length, which give as many samples.
            unsafe {
                (self.decode)(
                    self.state.as_ptr(),
                    frame.as_ptr(),
                    frame.len(),
                    out[at..].as_mut_ptr(),
                    &raw mut kind,
                );
            }
        }
    }

    fn lost(&mut self, out: &mut Vec<i16>) {
        let at = out.len();
        out.resize(at + self.samples(), 0);
        // SAFETY: the state is live; one frame is written.
        unsafe { (self.lost)(self.state.as_ptr(), out[at..].as_mut_ptr(), 1) };
    }

    fn samples(&self) -> usize {
        if self.frame == 38 { 160 } else { 240 }
    }
}

type Send = unsafe extern "C" fn(*mut c_void, *const AvPacket) -> c_int;
type Receive = unsafe extern "C" fn(*mut c_void, *mut AvFrame) -> c_int;

/// The beginning of AVPacket of libavcodec 59, which that version never changes.
#[repr(C)]
struct AvPacket {
    buffer: *mut c_void,
    times: [i64; 2],
    data: *const u8,
    size: c_int,
}

/// The beginning of AVFrame of libavutil 57.
#[repr(C)]
struct AvFrame {
    data: [*const u8; 8],
    line_size: [c_int; 8],
    extended: *const *const u8,
    width_height: [c_int; 2],
    samples: c_int,
    format: c_int,
}

/// libavcodec 59, which decodes iLBC if there is no libilbc.
pub(crate) struct Avcodec {
    /// Decoders for frames of 20 ms and 30 ms: the length is set before the first frame, and nothing can be
    /// opened later.
    contexts: [NonNull<c_void>; 2],
    long: bool,
    packet: NonNull<AvPacket>,
    frame: NonNull<AvFrame>,
    send: Send,
    receive: Receive,
}

impl Avcodec {
    fn open() -> Option<Self> {
        let library = Library::open(c"libavcodec.so.59")?;
        // SAFETY: the types of libavcodec/avcodec.h and codec.h of version 59, libavutil/opt.h and frame.h of
        // version 57, which the first has loaded; what is null is not used.
        unsafe {
            let find: unsafe extern "C" fn(*const c_char) -> *const c_void =
                library.function(c"avcodec_find_decoder_by_name")?;
            let allocate: unsafe extern "C" fn(*const c_void) -> *mut c_void =
                library.function(c"avcodec_alloc_context3")?;
            let set: unsafe extern "C" fn(*mut c_void, *const c_char, i64, c_int) -> c_int =
                library.function(c"av_opt_set_int")?;
            let open: unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void) -> c_int =
                library.function(c"avcodec_open2")?;
            let packet: unsafe extern "C" fn() -> *mut AvPacket = library.function(c"av_packet_alloc")?;
            let frame: unsafe extern "C" fn() -> *mut AvFrame = library.function(c"av_frame_alloc")?;
            let codec = NonNull::new(find(c"ilbc".as_ptr()).cast_mut())?;
            let opened = |rate: i64| {
                let context = NonNull::new(allocate(codec.as_ptr()))?;
                let ready = set(context.as_ptr(), c"b".as_ptr(), rate, 0) == 0
                    && open(context.as_ptr(), codec.as_ptr(), std::ptr::null_mut()) == 0;
                ready.then_some(context)
            };
            Some(Self {
                contexts: [opened(15_200)?, opened(13_330)?],
                long: false,
                packet: NonNull::new(packet())?,
                frame: NonNull::new(frame())?,
                send: library.function(c"avcodec_send_packet")?,
                receive: library.function(c"avcodec_receive_frame")?,
            })
        }
    }

    fn packet(&mut self, payload: &[u8], out: &mut Vec<i16>) {
        self.long = !payload.len().is_multiple_of(38);
        let size = if self.long { 50 } else { 38 };
        payload.chunks_exact(size).for_each(|frame| self.frame(frame, out));
    }

    /// A frame without a start state, which no encoder produces, makes the decoder conceal.
    fn lost(&mut self, out: &mut Vec<i16>) {
        self.frame(&[0; 50][..if self.long { 50 } else { 38 }], out);
    }

    fn frame(&mut self, bytes: &[u8], out: &mut Vec<i16>) {
        // The decoder may read up to 64 bytes beyond the end.
        let mut padded = [0; 50 + 64];
        padded[..bytes.len()].copy_from_slice(bytes);
        let end = out.len() + if self.long { 240 } else { 160 };
        let context = self.contexts[usize::from(self.long)].as_ptr();
        // SAFETY: packet and frame are the library's own and live; without a buffer of its own the library
        // copies the bytes, which are there and padded; a frame of 16-bit samples has as many as it says.
        unsafe {
            let packet = self.packet.as_mut();
            (packet.data, packet.size) = (padded.as_ptr(), bytes.len() as c_int);
            if (self.send)(context, packet) == 0 {
                while (self.receive)(context, self.frame.as_ptr()) == 0 {
                    let frame = self.frame.as_ref();
                    let samples = frame.data[0].cast::<i16>();
                    if frame.format == SIGNED_16 && !samples.is_null() && (0..=240).contains(&frame.samples) {
                        out.extend_from_slice(std::slice::from_raw_parts(samples, frame.samples as usize));
                    }
                }
            }
            (packet.data, packet.size) = (std::ptr::null(), 0);
        }
        out.resize(end, 0);
    }
}

/// AV_SAMPLE_FMT_S16.
const SIGNED_16: c_int = 1;

/// Ends this process after that many seconds unless called again; 0 cancels.
pub(crate) fn alarm(seconds: u32) {
    // SAFETY: takes an integer; the signal is not caught, so it ends the process.
    unsafe { libc::alarm(seconds) };
}
