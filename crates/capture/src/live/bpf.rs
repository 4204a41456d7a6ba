//! Classic BPF: assembling and checking programs, and running them where the kernel cannot.
//!
//! The instructions are those of `linux/filter.h` (McCanne and Jacobson 1993). A program is checked once, on
//! construction: jumps go forward and stay inside, and it ends with a return, so its run time is bounded by
//! its length.

/// One instruction, as the kernel takes it.
pub(super) type Instruction = libc::sock_filter;

/// A packet as a program sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    /// The frame, with its link header.
    pub(super) data: &'a [u8],
    /// Length on the wire.
    pub(super) wire_len: u32,
    /// Bytes of `data` from [`hole`](Self::hole) on that the program does not see: a VLAN tag, which the
    /// kernel removes before its filters run.
    pub(super) hole: usize,
    pub(super) hole_len: usize,
    /// Offset of the network header in the visible bytes, for relative loads.
    pub(super) network: usize,
    /// The Ethernet type of what is there.
    pub(super) protocol: u16,
}

impl<'a> View<'a> {
    /// All of the frame.
    pub(super) fn whole(data: &'a [u8], wire_len: u32) -> Self {
        Self { data, wire_len, hole: data.len(), hole_len: 0, network: 0, protocol: 0 }
    }

    fn byte(&self, at: usize) -> Option<u32> {
        let at = if at >= self.hole { at.checked_add(self.hole_len)? } else { at };
        self.data.get(at).map(|byte| u32::from(*byte))
    }

    /// Loads `size` bytes at an instruction's offset: from the start of the frame, or relative to its network
    /// header.
    fn load(&self, offset: u32, size: u16) -> Option<u32> {
        let network = libc::SKF_NET_OFF as u32;
        let ancillary = libc::SKF_AD_OFF as u32;
        if offset == ancillary + libc::SKF_AD_PROTOCOL as u32 {
            return Some(u32::from(self.protocol));
        }
        let at = if offset < 1 << 31 {
            offset as usize
        } else if offset >= network && offset < ancillary {
            self.network.checked_add((offset - network) as usize)?
        } else {
            return None;
        };
        (0..usize::from(size)).try_fold(0u32, |value, index| Some(value << 8 | self.byte(at + index)?))
    }
}

/// A checked program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    instructions: Box<[Instruction]>,
}

impl Program {
    /// `None` if there are no instructions or too many, or if they are unknown, jump out of the program or
    /// run past its end.
    pub(super) fn new(instructions: &[Instruction]) -> Option<Self> {
        let count = instructions.len();
        if count == 0 || count > libc::BPF_MAXINSNS as usize {
            return None;
        }
        let sound = |(at, instruction): (usize, &Instruction)| is_valid(instruction, count - at - 1);
        instructions.iter().enumerate().all(sound).then(|| Self { instructions: instructions.into() })
    }

    pub(super) fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Runs the program; 0 drops the packet. A load beyond the packet returns 0, as in the kernel.
    pub(super) fn run(&self, view: &View<'_>) -> u32 {
        self.steps(view).unwrap_or(0)
    }

    fn steps(&self, view: &View<'_>) -> Option<u32> {
        let (mut a, mut x) = (0u32, 0u32);
        let mut memory = [0u32; MEMORY];
        let mut at = 0;
        loop {
            let Instruction { code, jt, jf, k } = *self.instructions.get(at)?;
            at += 1;
            let slot = k as usize & (MEMORY - 1);
            match u32::from(code) & CLASS {
                LD => a = view_load(view, code, k, x, &memory)?,
                LDX if u32::from(code) & MODE == MSH => x = (view.load(k, 1)? & 15) << 2,
                LDX => x = view_load(view, code, k, 0, &memory)?,
                ST => memory[slot] = a,
                STX => memory[slot] = x,
                ALU => a = arithmetic(code, a, if u32::from(code) & SOURCE_X == 0 { k } else { x })?,
                JMP if u32::from(code) & OPERATION == libc::BPF_JA => at += k as usize,
                JMP => {
                    let with = if u32::from(code) & SOURCE_X == 0 { k } else { x };
                    at += usize::from(if holds(code, a, with) { jt } else { jf });
                }
                RET => return Some(if u32::from(code) & RETURN == RETURN_A { a } else { k }),
                _ if u32::from(code) & libc::BPF_TXA == 0 => x = a,
                _ => a = x,
            }
        }
    }
}

fn view_load(view: &View<'_>, code: u16, k: u32, x: u32, memory: &[u32; MEMORY]) -> Option<u32> {
    let size = match u32::from(code) & SIZE {
        libc::BPF_H => 2,
        libc::BPF_B => 1,
        _ => 4,
    };
    match u32::from(code) & MODE {
        libc::BPF_IMM => Some(k),
        libc::BPF_ABS => view.load(k, size),
        libc::BPF_IND => view.load(k.wrapping_add(x), size),
        libc::BPF_MEM => Some(memory[k as usize & (MEMORY - 1)]),
        // BPF_LEN
        _ => Some(view.wire_len.saturating_sub(view.hole_len as u32)),
    }
}

/// `None` on division by zero, which ends the program with 0.
fn arithmetic(code: u16, a: u32, with: u32) -> Option<u32> {
    Some(match u32::from(code) & OPERATION {
        libc::BPF_ADD => a.wrapping_add(with),
        libc::BPF_SUB => a.wrapping_sub(with),
        libc::BPF_MUL => a.wrapping_mul(with),
        libc::BPF_DIV => a.checked_div(with)?,
        libc::BPF_MOD => a.checked_rem(with)?,
        libc::BPF_OR => a | with,
        libc::BPF_AND => a & with,
        libc::BPF_XOR => a ^ with,
        libc::BPF_LSH => a.checked_shl(with).unwrap_or(0),
        libc::BPF_RSH => a.checked_shr(with).unwrap_or(0),
        // BPF_NEG
        _ => a.wrapping_neg(),
    })
}

fn holds(code: u16, a: u32, with: u32) -> bool {
    match u32::from(code) & OPERATION {
        libc::BPF_JEQ => a == with,
        libc::BPF_JGT => a > with,
        libc::BPF_JGE => a >= with,
        // BPF_JSET
        _ => a & with != 0,
    }
}

/// Whether an instruction followed by `after` others is known and stays within the program.
fn is_valid(instruction: &Instruction, after: usize) -> bool {
    let code = u32::from(instruction.code);
    let k = instruction.k;
    let (mode, size) = (code & MODE, code & SIZE);
    let sized = matches!(size, libc::BPF_W | libc::BPF_H | libc::BPF_B);
    let known = match code & CLASS {
        LD => match mode {
            libc::BPF_IMM | libc::BPF_LEN => size == libc::BPF_W,
            libc::BPF_MEM => size == libc::BPF_W && (k as usize) < MEMORY,
            libc::BPF_ABS | libc::BPF_IND => sized,
            _ => false,
        },
        LDX => match mode {
            libc::BPF_IMM | libc::BPF_LEN => size == libc::BPF_W,
            libc::BPF_MEM => size == libc::BPF_W && (k as usize) < MEMORY,
            MSH => size == libc::BPF_B,
            _ => false,
        },
        ST | STX => code & !CLASS == 0 && (k as usize) < MEMORY,
        ALU => code & OPERATION <= libc::BPF_XOR,
        JMP => match code & OPERATION {
            libc::BPF_JA => (k as usize) < after,
            libc::BPF_JEQ | libc::BPF_JGT | libc::BPF_JGE | libc::BPF_JSET => {
                usize::from(instruction.jt.max(instruction.jf)) < after
            }
            _ => false,
        },
        RET => matches!(code & RETURN, 0 | RETURN_A),
        _ => matches!(code & !CLASS, libc::BPF_TAX | libc::BPF_TXA),
    };
    // The last instruction must return.
    known && (after > 0 || code & CLASS == RET)
}

/// Assembles programs; jumps go to labels that are placed later.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    instructions: Vec<Instruction>,
    /// Each jump: its index and the labels of its two branches (`None` falls through).
    jumps: Vec<(usize, Option<Label>, Option<Label>)>,
    labels: Vec<usize>,
}

/// A later position in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

impl Assembler {
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(usize::MAX);
        Label(self.labels.len() - 1)
    }

    /// Places the label before the next instruction.
    pub(super) fn place(&mut self, label: Label) {
        self.labels[label.0] = self.instructions.len();
    }

    pub(super) fn push(&mut self, code: u32, k: u32) {
        self.instructions.push(Instruction { code: code as u16, jt: 0, jf: 0, k });
    }

    pub(super) fn jump(&mut self, code: u32, k: u32, yes: Option<Label>, no: Option<Label>) {
        self.jumps.push((self.instructions.len(), yes, no));
        self.push(JMP | code, k);
    }

    /// `None` if a label is too far away, behind its jump, or not placed.
    pub(super) fn finish(mut self) -> Option<Program> {
        for (at, yes, no) in self.jumps {
            let distance = |label: Option<Label>| match label {
                None => Some(0),
                Some(label) => self.labels[label.0].checked_sub(at + 1),
            };
            let (yes, no) = (distance(yes)?, distance(no)?);
            let instruction = &mut self.instructions[at];
            if u32::from(instruction.code) & OPERATION == libc::BPF_JA {
                instruction.k = u32::try_from(yes).ok()?;
            } else {
                (instruction.jt, instruction.jf) = (u8::try_from(yes).ok()?, u8::try_from(no).ok()?);
            }
        }
        Program::new(&self.instructions)
    }
}

const CLASS: u32 = 7;
const LD: u32 = libc::BPF_LD;
const LDX: u32 = libc::BPF_LDX;
const ST: u32 = libc::BPF_ST;
const STX: u32 = libc::BPF_STX;
const ALU: u32 = libc::BPF_ALU;
const JMP: u32 = libc::BPF_JMP;
const RET: u32 = 6;
const SIZE: u32 = 0x18;
const MODE: u32 = 0xe0;
const MSH: u32 = libc::BPF_MSH;
const OPERATION: u32 = 0xf0;
const SOURCE_X: u32 = libc::BPF_X;
const RETURN: u32 = 0x18;
pub(super) const RETURN_A: u32 = libc::BPF_A;
/// Words of scratch memory.
const MEMORY: usize = libc::BPF_MEMWORDS as usize;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> Instruction {
        Instruction { code: code as u16, jt, jf, k }
    }

    #[test]
    fn what_is_not_sound_is_no_program() {
        let ret = instruction(RET, 0, 0, 1);
        assert!(Program::new(&[]).is_none());
        assert!(Program::new(&[ret]).is_some());
        let wrong = [
            instruction(JMP | libc::BPF_JEQ, 0, 1, 0),
            instruction(JMP | libc::BPF_JA, 0, 0, 1),
            instruction(JMP | libc::BPF_JA, 0, 0, u32::MAX),
            instruction(ST, 0, 0, 16),
            instruction(LD | libc::BPF_MEM, 0, 0, 16),
            instruction(LD | SIZE | libc::BPF_ABS, 0, 0, 0),
            instruction(0xffff, 0, 0, 0),
        ];
        for wrong in wrong {
            assert!(Program::new(&[wrong, ret]).is_none(), "{:#x}", wrong.code);
        }
        assert!(Program::new(&[ret, instruction(LD, 0, 0, 1)]).is_none(), "runs past its end");
    }

    /// What `tcpdump -dd 'udp port 5060'` prints for Ethernet begins so: type, next header, port.
    #[test]
    fn a_program_is_run() {
        let program = [
            instruction(LD | libc::BPF_H | libc::BPF_ABS, 0, 0, 12),
            instruction(JMP | libc::BPF_JEQ, 0, 6, 0x0800),
            instruction(LD | libc::BPF_B | libc::BPF_ABS, 0, 0, 23),
            instruction(JMP | libc::BPF_JEQ, 0, 4, 17),
            instruction(LDX | libc::BPF_B | MSH, 0, 0, 14),
            instruction(LD | libc::BPF_H | libc::BPF_IND, 0, 0, 16),
            instruction(JMP | libc::BPF_JEQ, 0, 1, 5060),
            instruction(RET, 0, 0, 262_144),
            instruction(RET, 0, 0, 0),
        ];
        let program = Program::new(&program).expect("sound");
        let mut frame = [0u8; 60];
        frame[12] = 8;
        frame[14] = 0x46;
        frame[23] = 17;
        frame[40..42].copy_from_slice(&5060u16.to_be_bytes());
        assert_eq!(program.run(&View::whole(&frame, 60)), 262_144);
        assert_eq!(program.run(&View::whole(&frame[..41], 60)), 0, "the port is cut off");
        frame[23] = 6;
        assert_eq!(program.run(&View::whole(&frame, 60)), 0);
        frame[23] = 17;
        let mut tagged = frame[..12].to_vec();
        tagged.extend_from_slice(&[0x81, 0, 0, 5]);
        tagged.extend_from_slice(&frame[12..]);
        assert_eq!(program.run(&View::whole(&tagged, 64)), 0);
        let hidden = View { hole: 12, hole_len: 4, ..View::whole(&tagged, 64) };
        assert_eq!(program.run(&hidden), 262_144);
    }

    #[test]
    fn arithmetic_ends_where_it_must() {
        let divide = |by: u32| {
            [
                instruction(LD | libc::BPF_IMM, 0, 0, 84),
                instruction(LDX | libc::BPF_IMM, 0, 0, by),
                instruction(ALU | libc::BPF_DIV | SOURCE_X, 0, 0, 0),
                instruction(RET | RETURN_A, 0, 0, 0),
            ]
        };
        let run = |by| Program::new(&divide(by)).expect("sound").run(&View::whole(&[], 0));
        assert_eq!((run(2), run(0)), (42, 0));
    }

    proptest! {
        #[test]
        fn any_sound_program_ends(
            code in proptest::collection::vec((any::<u8>(), 0u8..8, 0u8..8, prop_oneof![0u32..80,
                any::<u32>()]), 1..60),
            data in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let mut code: Vec<_> = code.into_iter().map(|(c, jt, jf, k)| instruction(c.into(), jt, jf,
                k)).collect();
            code.retain(|instruction| is_valid(instruction, 100));
            code.push(instruction(RET | RETURN_A, 0, 0, 0));
            for _ in 0..8 {
                code.push(instruction(RET, 0, 0, 7));
            }
            if let Some(program) = Program::new(&code) {
                program.run(&View { network: 14, ..View::whole(&data, 80) });
            }
        }
    }
}
