import type { ChannelCondition } from '../../contract/channels.ts';
import type { CatalogChannel } from './channel-and-model-catalog.ts';
import { type CircuitBreakers, type CircuitState, type HealthView, worstOf } from './circuit-breaker.ts';

/** What this process knows of one credential of a channel. */
export interface CredentialHealth {
  readonly credentialId: number;
  readonly state: CircuitState;
  readonly condition: ChannelCondition;
  /** The credential as a whole first, then models on it. */
  readonly views: readonly HealthView[];
}

const CONDITIONS: readonly ChannelCondition[] = ['working', 'untested', 'failing', 'trying', 'resting'];

/** Of each credential of a channel. */
export function credentialHealth(
  { channel: { id }, credentials }: CatalogChannel,
  breakers: CircuitBreakers,
  now: number,
): CredentialHealth[] {
  return [...credentials.keys()].map((credentialId) => {
    const views = breakers.view({ id, credentialId }, now);
    const condition = breakers.condition({ id, credentialId }, now);
    return { credentialId, state: worstOf(views.map(({ state }) => state)), condition, views };
  });
}

/** A channel is as healthy as the best of its credentials that are in use; undefined where it has none. */
export function bestHealth(
  { credentials }: CatalogChannel,
  all: readonly CredentialHealth[],
): CredentialHealth | undefined {
  const used = all.filter(({ credentialId }) => credentials.get(credentialId)?.enabled);
  const rank = ({ condition }: CredentialHealth): number => CONDITIONS.indexOf(condition);
  return (used.length === 0 ? all : used).toSorted((one, other) => rank(one) - rank(other))[0];
}

/** Whose circuit opened or closed. */
export interface CircuitOwner {
  readonly name: string;
  /** Where the channel has several credentials: which one it is, and how many others can be used. */
  readonly credential?: { readonly label: string; readonly usableOthers: number };
}

export function circuitOwner(
  { channel: { name }, credentials }: CatalogChannel,
  credentialId: number,
  health: readonly CredentialHealth[],
): CircuitOwner {
  const own = credentials.get(credentialId);
  if (own === undefined || credentials.size === 1) return { name };
  const usable = health.filter((each) => each.state !== 'open' && credentials.get(each.credentialId)?.enabled);
  const usableOthers = usable.filter((each) => each.credentialId !== credentialId).length;
  return { name, credential: { label: own.label, usableOthers } };
}
