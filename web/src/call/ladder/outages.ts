// Outages and failovers of the services that a call went through: which of those that are stored concern it, and when.

import { ApiError, get } from '../../lib/api';
import { began, type CallDetails, type Failover, type FailoverSign, type LadderHost, type Outage } from '../../lib/types';
import type { LadderAnswer } from '../answers';

/** What is stored of the time of a call. */
export interface Availability {
  failovers: Failover[];
  outages: Outage[];
  /** Whether these are all of that time. */
  complete: boolean;
}

/** A time in which something was wrong with a host of the ladder. */
export interface HostOutage {
  id: string;
  /** Places in the ladder's list of hosts. */
  hosts: number[];
  /** `192.0.2.1:5060/udp`, or the address alone. */
  service: string;
  /** `failover` where the service was not found to be out of service, such as an address that moved. */
  kind: Outage['kind'] | 'failover';
  from_us: number;
  /** The first answer after; where that was not seen, until when it is known to have lasted. */
  until_us: number;
  /** Whether its end was seen. */
  ended: boolean;
  down_ms: number;
  causes: string[];
  signs: FailoverSign[];
}

export interface Outages {
  outages: HostOutage[];
  /** How many more there are than are drawn. */
  left_out: number;
}

export interface Span {
  from_us: number;
  /** Infinity while the call goes on. */
  until_us: number;
}

/** An outage that began longer before the call is not looked for. */
const LOOK_BACK_US = 24 * 3_600_000_000;
/** Messages may follow the end that a record has, such as repeats. */
const LOOK_AHEAD_US = 300_000_000;
/** More on one ladder are counted, and not drawn. */
export const MOST_OUTAGES = 40;

/** What is stored of the time of a call. Nothing where the server has none of it, or the viewer may not see it. */
export async function availabilityAnswer(answer: CallDetails, signal: AbortSignal): Promise<Availability> {
  const { from_us, until_us } = spanOf(answer, null);
  if (!Number.isFinite(from_us)) return NONE;
  const query = {
    from_us: Math.max(from_us - LOOK_BACK_US, 0),
    until_us: Number.isFinite(until_us) ? until_us + LOOK_AHEAD_US : null,
  };
  try {
    const [{ failovers, complete }, found] = await Promise.all([
      get('/availability/failovers', { query, signal }),
      get('/availability/outages', { query, signal }),
    ]);
    return { failovers, outages: found.outages, complete: complete && found.complete };
  } catch (error) {
    if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return NONE;
    throw error;
  }
}

const NONE: Availability = { failovers: [], outages: [], complete: true };

/** From the first to the last that is known of a conversation. Without anything known it begins at infinity. */
export function spanOf({ legs, streams, in_progress }: CallDetails, ladder: LadderAnswer | null): Span {
  const times = [
    ...legs.flatMap((call) => [began(call), call.answer_us ?? 0, call.end_us ?? 0]),
    ...streams.flatMap((stream) => [stream.first_us, stream.last_us]),
    ...(ladder?.media ?? []).flatMap((band) => [band.first_us, band.last_us]),
    ...(ladder?.messages ?? []).map((message) => message.time_us),
  ].filter((time) => time > 0);
  const from_us = times.reduce((least, time) => Math.min(least, time), Infinity);
  const until_us = times.reduce((most, time) => Math.max(most, time), 0);
  return { from_us, until_us: in_progress ? Infinity : until_us };
}

/** Those that overlap the call, at a host of its ladder, in order of time. */
export function outagesOf({ failovers, outages }: Availability, hosts: LadderHost[], span: Span): Outages {
  const at = (address: string) => hosts.flatMap((host, place) => (host.address === address ? [place] : []));
  const byId = new Map(outages.map((outage) => [outage.id, outage]));
  const failoverOf = new Map(failovers.flatMap((failover) => failover.outages.map((id) => [id, failover] as const)));
  const found = outages.map((outage) => ofOutage(outage, failoverOf.get(outage.id), at(addressOf(outage.service))));
  for (const failover of failovers) {
    const known = new Set(failover.outages.flatMap((id) => {
      const outage = byId.get(id);
      return outage ? [addressOf(outage.service)] : [];
    }));
    for (const [address, service] of hit(failover)) {
      if (!known.has(address)) found.push(ofFailover(failover, service, at(address)));
    }
  }
  const shown = found
    .filter((one) => one.hosts.length > 0 && one.from_us <= span.until_us && one.until_us >= span.from_us)
    .sort((a, b) => a.from_us - b.from_us || (a.id < b.id ? -1 : 1));
  return { outages: shown.slice(0, MOST_OUTAGES), left_out: Math.max(shown.length - MOST_OUTAGES, 0) };
}

function ofOutage(outage: Outage, failover: Failover | undefined, hosts: number[]): HostOutage {
  const { id, kind, from_us, first_answer_us, last_us, down_ms } = outage;
  const address = addressOf(outage.service);
  return {
    id,
    hosts,
    service: `${outage.service}/${outage.transport}`,
    kind,
    from_us,
    until_us: Math.max(first_answer_us ?? last_us, from_us),
    ended: first_answer_us !== null,
    down_ms,
    causes: failover?.causes ?? [],
    signs: (failover?.evidence ?? []).filter((sign) => sign.address === address),
  };
}

/** What is known of a host of a failover by other signs than an outage of its own. */
function ofFailover(failover: Failover, service: string, hosts: number[]): HostOutage {
  const address = addressOf(service);
  const signs = failover.evidence.filter((sign) => sign.address === address);
  const first = signs.reduce((least, sign) => Math.min(least, sign.first_us), Infinity);
  const last = signs.reduce((most, sign) => Math.max(most, sign.last_us), 0);
  const from_us = signs.length > 0 ? first : failover.from_us;
  const until_us = signs.length > 0 ? last : (failover.until_us ?? failover.from_us + failover.down_ms * 1000);
  return {
    id: `${failover.id} ${address}`,
    hosts,
    service,
    kind: 'failover',
    from_us,
    until_us: Math.max(until_us, from_us),
    ended: signs.length > 0 || failover.until_us !== null,
    down_ms: failover.down_ms,
    causes: failover.causes,
    signs,
  };
}

/** Signs that something is wrong with the address they name. The others tell of it that it was asked, or asked much. */
const OF_ITS_ADDRESS = new Set(['arp_moved', 'neighbour_moved', 'source_moved', 'address_conflict', 'invite_retried']);

/** Addresses that a failover is about, each with the first service named of it. */
function hit({ services, evidence }: Failover): Map<string, string> {
  const found = new Map<string, string>();
  for (const service of services) if (!found.has(addressOf(service))) found.set(addressOf(service), service);
  for (const { kind, address } of evidence) {
    if (OF_ITS_ADDRESS.has(kind) && !found.has(address)) found.set(address, address);
  }
  return found;
}

/** The address of `192.0.2.1:5060/udp`, `[2001:db8::1]:5060/tcp`, or of itself. */
export function addressOf(service: string): string {
  const endpoint = service.split('/', 1)[0] ?? '';
  const bracketed = /^\[([^\]]*)\]/.exec(endpoint)?.[1];
  if (bracketed !== undefined) return bracketed;
  const parts = endpoint.split(':');
  return parts.length === 2 ? (parts[0] ?? '') : endpoint;
}
