//! Commands for calls in progress.

use std::time::Instant;

use ringtap_spool::rules::{CallDecision, CallSlot, DecisionState};
use ringtap_spool::{PendingEntry, of_call};

use super::state::Recorder;
use crate::pending::number;
use crate::policy::{CallCommand, Command, ListenState, SharedPolicy, place};

impl Recorder {
    /// Runs a command for a call, if the call is this worker's.
    #[cold]
    pub(super) fn command(&mut self, command: &Command) {
        let key = of_call(command.call_id.as_bytes());
        let slot = self.by_key.get(&key).copied();
        let state = slot.and_then(|slot| self.calls.get_mut(&slot));
        let outcome = state.filter(|state| *state.call_id == *command.call_id).map(|state| {
            let table = &self.shared_policy.table;
            match command.act {
                CallCommand::Keep(what) => {
                    let before = state.decision;
                    let decided = DecisionState::Decided;
                    state.decision = CallDecision { state: decided, what, provisional: false, ..before };
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
                    table.write(place(state.number), state.decision);
                    self.output.flush_pending(&mut state.recording, &state.decision);
                    match before.state {
                        DecisionState::Decided => {
                            format!("{} from now on (was {})", what.name(), before.what.name())
                        }
                        DecisionState::UntilEnd => {
                            format!("{} from now on (what is already recorded stays)", what.name())
                        }
                        _ => format!("{} from its beginning on", what.name()),
                    }
                }
                CallCommand::Pause if table.pause(place(state.number), true) => "paused".to_owned(),
                CallCommand::Pause => "was paused already".to_owned(),
                CallCommand::Resume if table.pause(place(state.number), false) => "resumed".to_owned(),
                CallCommand::Resume => "was not paused".to_owned(),
                CallCommand::Time => self.now.0.to_string(),
                CallCommand::Listen => {
                    let call = (place(state.number), &*command.call_id);
                    listen(&self.shared_policy, call, self.policy.listeners)
                }
            }
        });
        if let Some(outcome) = outcome.as_ref().filter(|_| command.act.is_logged()) {
            log::info!(target: "rules", "call {}: {outcome}, by command", command.call_id);
        }
        // The requester may have gone.
        let _ = command.answer.send(outcome);
    }
}

/// Takes or renews the lease of a listener, of at most so many calls.
fn listen(shared_policy: &SharedPolicy, call: (CallSlot, &str), most: usize) -> String {
    match ListenState::of(&shared_policy.table.get(call.0)) {
        Err(why) => why,
        Ok(_) if most == 0 => NOBODY.to_owned(),
        Ok(state) if shared_policy.listened.renew(call, most, Instant::now()) => state.name().to_owned(),
        Ok(_) => format!(
            "{most} calls are listened to already, as many as [spool] listeners permits: end one, or raise it"
        ),
    }
}

const NOBODY: &str = "nobody may listen to calls in progress: [spool] listeners is 0";
