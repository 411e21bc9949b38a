import { notExistError } from '../platform/app-error.ts';
import { maskSecrets } from '../platform/log.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import type { AdapterContext } from '../upstreams/upstream.ts';
import type { CredentialCheck } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import type { Channel } from './directory.ts';
import type { ChannelSelectionService, EndingModel } from './selection.ts';

/** Dependencies of {@link probeChannel}. */
export interface ProbeDependencies {
  readonly channels: Pick<ChannelSelectionService, 'byId' | 'report' | 'endingModels'>;
  readonly vendors: VendorRegistry;
  /** Provided by `video`, so that a probe uses the same contexts as the adapters' calls. */
  readonly adapterContexts: { contextFor(channel: Channel, signal: AbortSignal): AdapterContext };
}

interface ProbeReport {
  readonly ok: boolean;
  readonly durationMs: number;
  readonly reason: string;
  readonly code: string;
  readonly message: string;
  readonly models: readonly string[];
  /** Names of the channel's models that the upstream does not list. */
  readonly missing: readonly string[];
  /** Models of the channel that are retired on its host. */
  readonly ending: readonly EndingModel[];
}

const PROBE_TIMEOUT_MS = 20_000;
const MAX_MESSAGE = 500;

/**
 * Checks one of a channel's credentials at its upstream, by default the first enabled one. Returns a summary, never the
 * response itself, because its content is untrusted.
 */
export async function probeChannel(
  { channels, vendors, adapterContexts }: ProbeDependencies,
  id: number,
  credentialId?: number,
): Promise<ProbeReport> {
  const channel = await channels.byId(id, credentialId);
  if (channel === undefined) throw notExistError('channel');
  if (credentialId !== undefined && channel.credentialId !== credentialId) throw notExistError('credential');
  const account = { channelId: id, credentialId: channel.credentialId } as const;
  const call = adapterContexts.contextFor(channel, AbortSignal.timeout(PROBE_TIMEOUT_MS));
  const startedAt = performance.now();
  const outcome = await runProbe(() => vendors.profile(channel.vendor).checkCredentials(call));
  const durationMs = Math.round(performance.now() - startedAt);
  if (outcome.ok) {
    channels.report({ ...account, outcome: 'ok', operation: 'probe', durationMs });
    const models = outcome.models ?? [];
    const compared = { models, missing: missingModels(channel, models), ending: channels.endingModels(channel) };
    return { ok: true, durationMs, reason: '', code: '', message: '', ...compared };
  }
  const { reason, code } = outcome.error;
  const message = maskSecrets(outcome.error.message).slice(0, MAX_MESSAGE);
  channels.report({ ...account, outcome: reason, operation: 'probe', durationMs, code, message });
  return {
    ok: false,
    durationMs,
    reason,
    code,
    message,
    models: [],
    missing: [],
    ending: channels.endingModels(channel),
  };
}

/** A longer list may be truncated, so models absent from it are not necessarily missing. */
const MAX_COMPARED = 500;

/** Upstream names of the channel's models that are missing from the upstream's own model list, if it has one. */
function missingModels({ models, modelMapping }: Channel, listed: readonly string[]): readonly string[] {
  if (listed.length === 0 || listed.length >= MAX_COMPARED) return [];
  const known = new Set(listed.map((name) => name.replace(/^models\//, '')));
  return models.map((model) => modelMapping?.[model] ?? model).filter((name) => !known.has(name));
}

type ProbeRunOutcome =
  | Extract<CredentialCheck, { ok: true }>
  | {
      readonly ok: false;
      readonly error: {
        readonly reason: 'unreachable' | FailedReason;
        readonly code: string;
        readonly message: string;
      };
    };
type FailedReason = Extract<CredentialCheck, { ok: false }>['error']['reason'];

async function runProbe(probe: () => Promise<CredentialCheck>): Promise<ProbeRunOutcome> {
  try {
    return await probe();
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return { ok: false, error: { reason: 'unreachable', code: error.phase, message: error.message } };
  }
}
