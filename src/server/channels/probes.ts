import { notExist } from '../platform/errors.ts';
import { maskSecrets } from '../platform/log.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import type { VendorCall } from '../video/vendor.ts';
import type { Channel, Channels } from './channels.ts';
import type { ChannelProfiles, ProbeOutcome } from './upstreams.ts';

export interface ProbeParts {
  readonly channels: Channels;
  readonly profiles: ChannelProfiles;
  /** Made by video: the same calls its adapters get. */
  readonly calls: { make(channel: Channel, signal: AbortSignal): VendorCall };
}

export interface ProbeReport {
  readonly ok: boolean;
  readonly durationMs: number;
  readonly reason: string;
  readonly code: string;
  readonly message: string;
  readonly models: readonly string[];
}

const PROBE_TIMEOUT_MS = 20_000;
const MAX_MESSAGE = 500;

/** Asks a channel's upstream whether its credentials work; a summary, never the answer itself, as it may hold anything. */
export async function probeChannel({ channels, profiles, calls }: ProbeParts, id: number): Promise<ProbeReport> {
  const channel = await channels.byId(id);
  if (channel === undefined) throw notExist('channel');
  const call = calls.make(channel, AbortSignal.timeout(PROBE_TIMEOUT_MS));
  const startedAt = performance.now();
  const outcome = await ask(() => profiles.of(channel.vendor).probe(call));
  const durationMs = Math.round(performance.now() - startedAt);
  if (outcome.ok) {
    channels.report({ channelId: id, outcome: 'ok' });
    return { ok: true, durationMs, reason: '', code: '', message: '', models: outcome.models ?? [] };
  }
  const { reason, code } = outcome.error;
  const message = maskSecrets(outcome.error.message).slice(0, MAX_MESSAGE);
  channels.report({ channelId: id, outcome: reason, code, message });
  return { ok: false, durationMs, reason, code, message, models: [] };
}

type Asked =
  | Extract<ProbeOutcome, { ok: true }>
  | {
      readonly ok: false;
      readonly error: {
        readonly reason: 'unreachable' | FailedReason;
        readonly code: string;
        readonly message: string;
      };
    };
type FailedReason = Extract<ProbeOutcome, { ok: false }>['error']['reason'];

async function ask(probe: () => Promise<ProbeOutcome>): Promise<Asked> {
  try {
    return await probe();
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return { ok: false, error: { reason: 'unreachable', code: error.phase, message: error.message } };
  }
}
