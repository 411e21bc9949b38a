import { hash } from 'node:crypto';
import type { AmountUnit } from '../../contract/amounts.ts';
import {
  CLAUDE_CODE_CLIENT,
  type ClaudeCodePolicy,
  type ClaudeCodeUsageAnswer,
  MAX_POLICY_BYTES,
} from '../../contract/claude-code.ts';
import { asObject, defined, type UntrustedObject } from '../../contract/objects.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { LoginService } from '../accounts/login-service.ts';
import type { TwoFactorService } from '../accounts/two-factor.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { AccountCaller, Actor, ModelCaller } from '../platform/http/route-registry.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { SpendLimitState } from '../quota/spend-limits.ts';
import type { SettingsStore } from '../site-settings/settings.ts';
import type { Executor, Tables } from '../tables.ts';

const SETTING = 'CLAUDE_CODE_MANAGED_SETTINGS';
const MAX_DEPTH = 20;

interface ManagedSettingsDependencies {
  readonly database: Database<Tables>;
  readonly store: Pick<SettingsStore, 'find' | 'write' | 'remove'>;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
  readonly logins: Pick<LoginService, 'withConfirmedPassword'>;
  readonly twoFactors: Pick<TwoFactorService, 'confirm'>;
}

/** A change of the managed settings, as root sends it. */
interface PolicyChange {
  readonly value: unknown;
  readonly confirm?: boolean;
  readonly password?: string;
  readonly code?: string;
}

/**
 * The settings every signed-in Claude Code receives. They can run programs on the machines of all signed-in people, so
 * everything but a list of harmless settings needs a second confirmation, and is announced on the approval page.
 */
export class ManagedSettings {
  readonly #dependencies: ManagedSettingsDependencies;

  constructor(dependencies: ManagedSettingsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Reads the database each time, so that a change applies to the next request on every process. */
  async find(db?: Executor): Promise<ClaudeCodePolicy> {
    return describePolicy(await this.#dependencies.store.find(SETTING, db));
  }

  /** The settings a person must know before approving a sign-in of this client. */
  async findSensitive(clientId: string): Promise<readonly string[]> {
    return clientId === CLAUDE_CODE_CLIENT.id ? (await this.find()).sensitive : [];
  }

  /** @throws invalid_request, second_step_required, wrong_password, wrong_code, rate_limit_exceeded */
  async set(caller: AccountCaller, actor: Actor, change: PolicyChange): Promise<ClaudeCodePolicy> {
    const { database, store, clock, auditLog } = this.#dependencies;
    const text = parsePolicy(change.value);
    const after = describePolicy(text);
    if (after.sensitive.length > 0) await this.#assertConfirmed(caller, after.sensitive, change);
    await database.transaction(async (trx) => {
      const before = await this.find(trx);
      if (text === undefined) await store.remove(trx, SETTING);
      else await store.write(trx, SETTING, text, clock.now());
      await auditLog.record(trx, {
        ...actor,
        action: 'setting.update',
        target: `setting:${SETTING}`,
        before: toAuditDetails(before),
        after: toAuditDetails(after),
      });
    });
    return after;
  }

  async #assertConfirmed(
    caller: AccountCaller,
    sensitive: readonly string[],
    { confirm, password, code }: PolicyChange,
  ): Promise<void> {
    if (confirm !== true)
      throw invalidRequest(
        `confirm is required for settings that can run programs: ${sensitive.join(', ')}`,
        'confirm',
      );
    if (code !== undefined) return this.#dependencies.twoFactors.confirm(caller, code);
    if (password === undefined) throw new AppError('second_step_required');
    await this.#dependencies.logins.withConfirmedPassword(caller, password, async () => undefined);
  }
}

/** Values are left out: they may contain credentials. */
const toAuditDetails = ({ value, checksum, sensitive }: ClaudeCodePolicy) => ({
  checksum,
  keys: Object.keys(value ?? {}).slice(0, MAX_AUDITED_KEYS),
  sensitive: sensitive.slice(0, MAX_AUDITED_KEYS),
});
const MAX_AUDITED_KEYS = 50;

/** The canonical text of a policy; undefined for none. @throws invalid_request */
function parsePolicy(given: unknown): string | undefined {
  if (given === null || (typeof given === 'string' && given.trim() === '')) return undefined;
  const policy = asObject(typeof given === 'string' ? parseJson(given) : given);
  if (policy === undefined) throw invalidRequest('value must be a JSON object', 'value');
  if (depthOf(policy) > MAX_DEPTH) throw invalidRequest('value is nested too deeply', 'value');
  const text = toCanonicalJson(policy);
  if (Buffer.byteLength(text) > MAX_POLICY_BYTES)
    throw invalidRequest(`value must have at most ${MAX_POLICY_BYTES} bytes`, 'value');
  return text;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidRequest('value must be a JSON object', 'value');
  }
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function describePolicy(text: string | undefined): ClaudeCodePolicy {
  if (text === undefined) return { value: null, checksum: '', sensitive: [] };
  const value = JSON.parse(text) as UntrustedObject;
  return { value, checksum: `sha256:${hash('sha256', text)}`, sensitive: findSensitiveKeys(value) };
}

/** JSON with sorted keys and no spaces, from which the program computes the same checksum. */
function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`;
  const members = asObject(value);
  if (members === undefined) return JSON.stringify(value);
  const keys = Object.keys(members).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${toCanonicalJson(members[key])}`).join(',')}}`;
}

type IsHarmless = (value: unknown) => boolean;
const oneOf =
  (...values: readonly unknown[]): IsHarmless =>
  (value) =>
    values.includes(value);
const isText: IsHarmless = (value) => typeof value === 'string';
const isTexts: IsHarmless = (value) => Array.isArray(value) && value.every(isText);
const isFlag: IsHarmless = (value) => typeof value === 'boolean';
const isNumber: IsHarmless = (value) => typeof value === 'number';
const isListOfObjects: IsHarmless = (value) => Array.isArray(value);

/**
 * Settings that neither run a program nor redirect a request nor widen what the program may do without asking, with the
 * values of which that is true. Settings of later releases are missing here and therefore need the confirmation.
 */
const HARMLESS: Readonly<Record<string, IsHarmless>> = {
  allowedMcpServers: isListOfObjects,
  allowManagedHooksOnly: oneOf(true),
  allowManagedMcpServersOnly: oneOf(true),
  allowManagedPermissionRulesOnly: oneOf(true),
  alwaysThinkingEnabled: isFlag,
  availableModels: isTexts,
  blockedMarketplaces: isListOfObjects,
  cleanupPeriodDays: isNumber,
  companyAnnouncements: isTexts,
  deniedMcpServers: isListOfObjects,
  disableAllHooks: oneOf(true),
  disableAutoMode: oneOf('disable'),
  disableBypassPermissionsMode: oneOf('disable'),
  effortLevel: isText,
  enforceAvailableModels: oneOf(true),
  includeCoAuthoredBy: isFlag,
  language: isText,
  model: isText,
  'permissions.ask': isTexts,
  'permissions.defaultMode': oneOf('default', 'plan'),
  'permissions.deny': isTexts,
  'permissions.disableAutoMode': oneOf('disable'),
  'permissions.disableBypassPermissionsMode': oneOf('disable'),
  prefersReducedMotion: isFlag,
  respectGitignore: oneOf(true),
  'sandbox.allowUnsandboxedCommands': oneOf(false),
  'sandbox.enabled': oneOf(true),
  showTurnDuration: isFlag,
  spinnerTipsEnabled: isFlag,
  strictKnownMarketplaces: isListOfObjects,
};

/** Settings whose members are judged one by one. */
const CONTAINERS: ReadonlySet<string> = new Set(['env', 'permissions', 'sandbox']);

/** Paths of the settings that are not known to be harmless, in the order of the policy. */
function findSensitiveKeys(policy: UntrustedObject): string[] {
  return Object.entries(policy).flatMap(([key, value]) => {
    const members = CONTAINERS.has(key) ? asObject(value) : undefined;
    if (members === undefined) return isHarmless(key, value) ? [] : [key];
    return Object.keys(members)
      .map((name) => ({ path: `${key}.${name}`, member: members[name] }))
      .filter(({ path, member }) => !isHarmless(path, member))
      .map(({ path }) => path);
  });
}

const isHarmless = (path: string, value: unknown): boolean =>
  Object.hasOwn(HARMLESS, path) && HARMLESS[path]?.(value) === true;

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
