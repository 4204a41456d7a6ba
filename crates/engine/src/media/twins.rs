//! Calls that have their media in common: a proxy that hides topology gives a call another Call-ID and leaves
//! its media alone. Streams belong to one of the two, and nobody is to say of the other that it had none.

use ringtap_model::Endpoint;

use super::StreamTable;
use super::binding::score;
use super::replicas::{CallReplica, FlowEnds};
use crate::update::Side;

impl StreamTable {
    /// Looks for a call that announced this endpoint for the same side, and one of the other side too.
    // HOT: once an endpoint of a description, which mostly has no other call.
    pub(super) fn find_twin(&mut self, call: u32, endpoint: Endpoint, side: Side) {
        let Some(view) = self.replicas.get(call) else { return };
        let Some(leg) = view.legs.iter().find(|leg| leg.endpoint == endpoint) else { return };
        let number = self.endpoints.number(leg.node);
        let others = self.endpoints.calls(number).take(MOST);
        let twin = others.filter(|(other, of)| *other != call && *of == side).find_map(|(slot, _)| {
            let other = self.replicas.get(slot)?;
            (!other.status.is_over && view.shares(other, side.other())).then_some((slot, other.call))
        });
        let own = view.call;
        let Some((slot, name)) = twin else { return };
        if let Some(view) = self.replicas.get_mut(call) {
            view.twin = Some(name);
        }
        if let Some(other) = self.replicas.get_mut(slot) {
            other.twin.get_or_insert(own);
        }
    }

    /// The call of a flow, or its twin if that began before and explains the flow as well: all streams are
    /// that one's, in every worker.
    pub(super) fn first_of_twins(&self, call: u32, ends: &FlowEnds, merit: u8) -> u32 {
        let Some(view) = self.replicas.get(call) else { return call };
        let twin = view.twin.and_then(|twin| self.replicas.find(twin));
        let is_first = |twin: &CallReplica| {
            let sides = [twin.sides(ends.src), twin.sides(ends.dst)];
            !twin.status.is_over && twin.is_first_of_twins(view) && score(sides, ends.ips, twin).0 >= merit
        };
        twin.filter(|slot| self.replicas.get(*slot).is_some_and(is_first)).unwrap_or(call)
    }

    /// Whether the streams of a call's media are another's.
    pub(super) fn is_at_twin(&self, view: &CallReplica) -> bool {
        let twin = view.twin.and_then(|twin| self.replicas.get(self.replicas.find(twin)?));
        view.is_heard_at_twin || twin.is_some_and(CallReplica::is_heard)
    }

    /// A call has ended: whether its streams are another's, which is told whether they were this one's.
    pub(super) fn leave_twin(&mut self, view: &CallReplica) -> bool {
        if view.is_heard()
            && let Some(twin) = view.twin.and_then(|twin| self.replicas.find(twin))
            && let Some(other) = self.replicas.get_mut(twin)
        {
            other.is_heard_at_twin |= other.twin == Some(view.call);
        }
        self.is_at_twin(view)
    }
}

/// Calls under an endpoint that are looked at: the description of the other call passed just before.
const MOST: usize = 8;

#[cfg(test)]
mod tests {
    use ringtap_model::{Call, NoteCode};

    use crate::testing::{CALLEE, CALLEE_RTP, CALLER, CALLER_RTP, Sip, Tap, request, response};

    const PROXY: &str = "203.0.113.1:5060";

    /// Both hops of a message: of the call before the proxy, and of that behind it, in the order of its way.
    fn pass(tap: &mut Tap, millis: u64, by_caller: bool, message: &dyn Fn() -> Sip) {
        let hops = [("before", CALLER, PROXY), ("behind", PROXY, CALLEE)];
        let send = |tap: &mut Tap, after: u64, (call_id, from, to): (&str, &str, &str)| {
            let (src, dst) = if by_caller { (from, to) } else { (to, from) };
            tap.udp(millis + after, src, dst, &message().call_id(call_id).bytes());
        };
        let [before, behind] = hops;
        let (first, second) = if by_caller { (before, behind) } else { (behind, before) };
        send(tap, 0, first);
        send(tap, 1, second);
    }

    /// A call of 10 s through a proxy that hides topology, with or without media, which one side ends.
    fn calls(with_media: bool, ended_by_caller: bool) -> [Call; 2] {
        let mut tap = Tap::new();
        pass(&mut tap, 0, true, &|| request("INVITE", 1).sdp(CALLER_RTP, "RTP/AVP 8"));
        pass(&mut tap, 900, false, &|| {
            response("200 OK", "INVITE", 1).to("<sip:bob@example.com>;tag=bob").sdp(CALLEE_RTP, "RTP/AVP 8")
        });
        pass(&mut tap, 910, true, &|| request("ACK", 1).to("<sip:bob@example.com>;tag=bob"));
        if with_media {
            tap.stream(1_000, CALLER_RTP, CALLEE_RTP, 1, 0..50);
            tap.stream(2_000, CALLEE_RTP, CALLER_RTP, 2, 0..100);
        }
        pass(&mut tap, 10_000, ended_by_caller, &|| match ended_by_caller {
            true => request("BYE", 2).to("<sip:bob@example.com>;tag=bob"),
            false => request("BYE", 1)
                .from("<sip:bob@example.com>;tag=bob")
                .to("<sip:alice@example.com>;tag=alice"),
        });
        let calls = tap.close().calls.into_iter().map(|(call, _)| call).collect::<Vec<_>>();
        calls.try_into().unwrap_or_else(|calls: Vec<_>| panic!("{} calls", calls.len()))
    }

    fn codes(call: &Call) -> Vec<NoteCode> {
        call.notes.iter().map(|note| note.code).collect()
    }

    /// Whichever of them ends first.
    #[test]
    fn of_two_calls_with_the_same_media_one_has_it_and_none_is_silent() {
        for ended_by_caller in [true, false] {
            let calls = calls(true, ended_by_caller);
            let heard: Vec<_> = calls.iter().filter(|call| !call.streams.is_empty()).collect();
            assert_eq!(heard.len(), 1, "{ended_by_caller}");
            assert_eq!((&*heard[0].call_id, heard[0].streams.len()), ("before", 2), "{ended_by_caller}");
            assert_eq!(codes(heard[0]), [], "{ended_by_caller}: {:?}", heard[0].notes);
            let silent: Vec<_> = calls.iter().filter(|call| call.streams.is_empty()).collect();
            assert_eq!(codes(silent[0]), [NoteCode::SharedMedia], "{ended_by_caller}: {:?}", silent[0].notes);
        }
    }

    /// Neither has any: both say so.
    #[test]
    fn two_calls_with_the_same_endpoints_and_no_media_are_silent() {
        for call in calls(false, true) {
            assert_eq!(codes(&call), [NoteCode::SignallingOnly]);
        }
    }
}
