//! Commands for calls under way.

use ringtap_spool::rules::{CallDecision, DecisionState};
use ringtap_spool::{PendingEntry, of_call};

use super::state::Recorder;
use crate::orders::{CallCommand, Command, place};
use crate::pending::number;

impl Recorder {
    /// Does what somebody wants of a call, if it is one of this worker's.
    #[cold]
    pub(super) fn command(&mut self, command: &Command) {
        let key = of_call(command.call_id.as_bytes());
        let slot = self.by_key.get(&key).copied();
        let state = slot.and_then(|slot| self.calls.get_mut(&slot));
        let told = state.filter(|state| *state.call_id == *command.call_id).map(|state| {
            let table = &self.orders.table;
            match command.act {
                CallCommand::Keep(what) => {
                    let before = state.standing;
                    state.standing = CallDecision { state: DecisionState::Decided, what, ..before };
                    if !std::mem::replace(&mut state.fixed, true) {
                        self.counts.calls[what as usize] += 1;
                    }
                    state.demanded |= before.state == DecisionState::Decided;
                    state.most = None;
                    if let Some(eraser) =
                        self.eraser.as_mut().filter(|_| std::mem::take(&mut state.noted_pending))
                    {
                        eraser.note_pending(PendingEntry::Ended { call: number(state.number) });
                    }
                    table.write(place(state.number), state.standing);
                    self.output.settle(&mut state.track, &state.standing);
                    match before.state {
                        DecisionState::Decided => {
                            format!("{} from now on (was {})", what.name(), before.what.name())
                        }
                        DecisionState::UntilEnd => {
                            format!("{} from now on (what was kept of it until now stays)", what.name())
                        }
                        _ => format!("{} from its beginning on", what.name()),
                    }
                }
                CallCommand::Pause if table.pause(place(state.number), true) => "paused".to_owned(),
                CallCommand::Pause => "was paused already".to_owned(),
                CallCommand::Resume if table.pause(place(state.number), false) => "goes on".to_owned(),
                CallCommand::Resume => "was not paused".to_owned(),
                CallCommand::Time => self.now.0.to_string(),
            }
        });
        if let Some(told) = told.as_ref().filter(|_| command.act != CallCommand::Time) {
            log::info!(target: "rules", "call {}: {told}, by command", command.call_id);
        }
        // Who asked may have gone.
        let _ = command.answer.send(told);
    }
}
