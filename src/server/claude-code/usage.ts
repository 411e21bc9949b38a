import type { AmountUnit } from '../../contract/amounts.ts';
import type { ClaudeCodeUsageAnswer } from '../../contract/claude-code.ts';
import { defined } from '../../contract/objects.ts';
import type { ModelCaller } from '../platform/http/route-registry.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { SpendLimitState } from '../quota/spend-limits.ts';

/** Parts of a limit beyond which the program warns. */
const THRESHOLDS = [0.95, 0.75] as const;
const GROUPS = { day: 'daily', week: 'weekly', month: 'monthly' } as const;
/** Currencies that the program shows without decimals; it divides amounts of all others by 100. */
const WITHOUT_DECIMALS: ReadonlySet<string> = new Set(['JPY', 'KRW', 'VND']);
/** Stands for credits where the site has no currency: the program would show US dollars. No currency has this code. */
const CREDITS = 'CRD';

interface ClaudeCodeUsageDependencies {
  readonly ledger: Pick<Ledger, 'spendLimits'>;
  readonly amountUnit: () => AmountUnit;
}

/** What Claude Code shows a person of their spend limits: a warning beside model calls, and amounts under `/usage`. */
export class ClaudeCodeUsage {
  readonly #dependencies: ClaudeCodeUsageDependencies;

  constructor(dependencies: ClaudeCodeUsageDependencies) {
    this.#dependencies = dependencies;
  }

  /** The answer to `/api/oauth/usage`; undefined without a limit. */
  async find(caller: ModelCaller): Promise<ClaudeCodeUsageAnswer | undefined> {
    const limits = await this.#limitsOf(caller);
    const tightest = tightestOf(limits);
    if (tightest === undefined) return undefined;
    const { quotaPerCredit, currency } = this.#dependencies.amountUnit();
    const perUnit = quotaPerCredit / (WITHOUT_DECIMALS.has(currency) ? 1 : 100);
    return {
      extra_usage: {
        is_enabled: true,
        monthly_limit: tightest.amount / perUnit,
        used_credits: Math.floor(tightest.spent / perUnit),
        utilization: toPercent(tightest),
        currency: currency === '' ? CREDITS : currency,
      },
      limits: limits.map((limit) => ({
        kind: 'spend',
        group: GROUPS[limit.period],
        percent: toPercent(limit),
        resets_at: new Date(limit.renewsAt).toISOString(),
        severity: severityOf(limit),
        is_active: limit === tightest,
      })),
    };
  }

  /** Headers of a successful model call; none without a limit, or if it is used up. */
  async headers(caller: ModelCaller): Promise<Readonly<Record<string, string>>> {
    const tightest = tightestOf(await this.#limitsOf(caller));
    if (tightest === undefined || isUsedUp(tightest)) return {};
    const threshold = thresholdOf(tightest);
    const status = threshold === undefined ? 'allowed' : 'allowed_warning';
    const reset = String(Math.floor(tightest.renewsAt / 1_000));
    return {
      'anthropic-ratelimit-unified-status': status,
      'anthropic-ratelimit-unified-reset': reset,
      'anthropic-ratelimit-unified-representative-claim': 'overage',
      'anthropic-ratelimit-unified-overage-status': status,
      'anthropic-ratelimit-unified-overage-reset': reset,
      'anthropic-ratelimit-unified-overage-utilization': String(toPercent(tightest) / 100),
      ...defined({
        'anthropic-ratelimit-unified-overage-surpassed-threshold':
          threshold === undefined ? undefined : String(threshold),
      }),
    };
  }

  async #limitsOf({ tokenId, userId }: ModelCaller): Promise<readonly SpendLimitState[]> {
    const limits = await this.#dependencies.ledger.spendLimits([
      { kind: 'token', id: tokenId },
      { kind: 'account', id: userId },
    ]);
    return [...limits.values()];
  }
}

/** The limit that refuses calls first: one that is used up, for longest, or else the fullest. */
const tightestOf = (limits: readonly SpendLimitState[]): SpendLimitState | undefined =>
  limits.toSorted(
    (one, other) =>
      Number(isUsedUp(other)) - Number(isUsedUp(one)) ||
      (isUsedUp(one) ? other.renewsAt - one.renewsAt : usedPart(other) - usedPart(one)),
  )[0];

const isUsedUp = ({ spent, amount }: SpendLimitState): boolean => spent >= amount;

const usedPart = ({ spent, amount }: SpendLimitState): number => (amount > 0 ? spent / amount : 1);

/** Whole percent; 100 only once a limit is used up. */
const toPercent = (limit: SpendLimitState): number =>
  isUsedUp(limit) ? Math.round(usedPart(limit) * 100) : Math.min(99, Math.round(usedPart(limit) * 100));

const thresholdOf = (limit: SpendLimitState): number | undefined => THRESHOLDS.find((each) => usedPart(limit) > each);

const severityOf = (limit: SpendLimitState): 'normal' | 'warning' | 'critical' => {
  const threshold = thresholdOf(limit);
  if (isUsedUp(limit) || threshold === THRESHOLDS[0]) return 'critical';
  return threshold === undefined ? 'normal' : 'warning';
};
