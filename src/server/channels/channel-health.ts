import type { ChannelCondition } from '../../contract/channels.ts';
import type { CatalogChannel } from './catalog.ts';
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
