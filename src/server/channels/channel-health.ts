import type { ChannelCondition } from '../../contract/channels.ts';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { EventStore, EventWriter } from '../event-log/event-log.ts';
import type { AdminNotifier, Bilingual } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { type Log, maskSecrets } from '../platform/log.ts';
import type { Tables, Trx } from '../tables.ts';
import { type CircuitBreakers, type CircuitState, type HealthView, worstOf } from './circuit-breaker.ts';
import type { CallOutcome, CatalogChannel } from './directory.ts';

/** This process's view of the health of a channel's credential. */
export interface CredentialHealth {
  readonly credentialId: number;
  readonly state: CircuitState;
  readonly condition: ChannelCondition;
  /** The credential as a whole first, then its models. */
  readonly views: readonly HealthView[];
}

const CONDITIONS: readonly ChannelCondition[] = ['working', 'untested', 'failing', 'trying', 'resting'];

/** The health of each credential of a channel. */
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

/** A channel is as healthy as the best of its enabled credentials; undefined if it has none. */
export function bestHealth(
  { credentials }: CatalogChannel,
  all: readonly CredentialHealth[],
): CredentialHealth | undefined {
  const used = all.filter(({ credentialId }) => credentials.get(credentialId)?.enabled);
  const rank = ({ condition }: CredentialHealth): number => CONDITIONS.indexOf(condition);
  return (used.length === 0 ? all : used).toSorted((one, other) => rank(one) - rank(other))[0];
}

/** The channel and credential whose circuit opened or closed. */
export interface CircuitOwner {
  readonly name: string;
  /** For a channel with several credentials: the affected one, and how many others are usable. */
  readonly credential?: { readonly label: string; readonly usableOthers: number };
}

/** The owner of a credential's circuit, for notices. */
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

/** Failures that last until an administrator acts; overload passes by itself. */
const NEEDS_ADMINISTRATOR: Partial<Record<CallOutcome['outcome'], Bilingual>> = {
  auth: { en: 'The vendor rejects its credentials', 'zh-CN': '供应商拒绝其凭证' },
  billing: { en: 'The balance of the vendor account is exhausted', 'zh-CN': '供应商账号余额不足' },
  model: { en: 'The vendor does not serve this model to it', 'zh-CN': '供应商未向其提供该模型' },
};

interface ChannelFailureNoticeDependencies {
  readonly database: Database<Tables>;
  readonly notifier: AdminNotifier;
  readonly events: EventWriter;
  readonly eventHistory: Pick<EventStore, 'findNewest'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Notifies administrators of channels that need attention: once a day per channel and reason, across all processes.
 * A failure after a reported recovery is reported again, but not within an hour of the one before.
 */
export class ChannelFailureNotices {
  readonly #dependencies: ChannelFailureNoticeDependencies;
  constructor(dependencies: ChannelFailureNoticeDependencies) {
    this.#dependencies = dependencies;
  }

  /** Never throws. */
  async circuitOpened(call: CallOutcome, { name, credential }: CircuitOwner): Promise<void> {
    const { channelId, outcome, model = '', message = '' } = call;
    const reason = NEEDS_ADMINISTRATOR[outcome];
    if (reason === undefined) return;
    const { database, notifier, eventHistory, clock, log } = this.#dependencies;
    const subject = subjectOf(call, credential);
    const about = outcome === 'model' && model !== '' ? ` (${model})` : '';
    const words = message === '' ? '' : `: ${maskSecrets(message)}`;
    await database
      .transaction(async (trx) => {
        const now = clock.now();
        const { failing, recovered, isFailing } = await findReports(trx, eventHistory, subject);
        const isFlapping = !isFailing && failing !== undefined && now - failing.created_at < HOUR_MS;
        // The circuit opens again, and reports it, until a call succeeds.
        if (isFlapping) return;
        await notifier.notifyAdministrators(trx, {
          type: 'system',
          topic: 'channel.resting',
          title:
            credential === undefined
              ? { en: `Channel “${name}” is paused`, 'zh-CN': `渠道“${name}”已暂停使用` }
              : {
                  en: `A credential of channel “${name}” is paused`,
                  'zh-CN': `渠道“${name}”的一个凭证已暂停使用`,
                },
          content: {
            en: `${reason.en}${about}${words}${credential === undefined ? '' : `. Credential ${credential.label}; others in use: ${credential.usableOthers}`}`,
            'zh-CN': `${reason['zh-CN']}${about}${words}${credential === undefined ? '' : `。凭证 ${credential.label}；仍可用的其他凭证：${credential.usableOthers}`}`,
          },
          targetUrl: '/admin/channels',
          relatedId: channelId,
          event: {
            type: 'channel.failing',
            subject,
            data: {
              id: channelId,
              name,
              reason: outcome,
              model,
              message: maskSecrets(message),
              ...credentialData(call, credential),
            },
          },
          deduplicationKey: `channel.resting:${subject}:${outcome}:${about}:${Math.floor(now / DAY_MS)}:${recovered?.id ?? ''}`,
        });
      })
      .catch((error: unknown) =>
        log.warn({ err: error, channelId }, 'administrators could not be notified of a channel'),
      );
  }

  /** Never throws. Notifies only if a failure was reported before; other closings are not news. */
  async circuitClosed(call: CallOutcome, { name, credential }: CircuitOwner): Promise<void> {
    const { database, events, eventHistory, log } = this.#dependencies;
    const { channelId } = call;
    const subject = subjectOf(call, credential);
    await database
      .transaction(async (trx) => {
        const { failing, isFailing } = await findReports(trx, eventHistory, subject);
        if (failing === undefined || !isFailing) return;
        await events.write(trx, {
          type: 'channel.recovered',
          subject,
          data: { id: channelId, name, ...credentialData(call, credential) },
          // Several processes may notice the recovery; one of them reports it.
          deduplicationKey: failing.id,
        });
      })
      .catch((error: unknown) => log.warn({ err: error, channelId }, 'the recovery of a channel was not reported'));
  }
}

/** The newest reports about a subject, which may have events of other kinds, such as those of its vendor's billing. */
async function findReports(trx: Trx, history: Pick<EventStore, 'findNewest'>, subject: string) {
  const failing = await history.findNewest(trx, subject, 'channel.failing');
  const recovered = await history.findNewest(trx, subject, 'channel.recovered');
  return { failing, recovered, isFailing: (failing?.seq ?? 0) > (recovered?.seq ?? 0) };
}

type Credential = CircuitOwner['credential'];

/** Credentials of one channel fail and recover independently. */
const subjectOf = ({ channelId, credentialId }: CallOutcome, credential: Credential): string =>
  credential === undefined ? `channel:${channelId}` : `channel:${channelId}/credential:${credentialId}`;

const credentialData = ({ credentialId }: CallOutcome, credential: Credential) =>
  credential === undefined ? {} : { credential_id: credentialId, credential: credential.label };
