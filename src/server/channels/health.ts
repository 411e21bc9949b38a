import type { ChannelNews } from './channels.ts';

/** How one kind of news counts. Kinds without a row say nothing about the channel: the caller's own faults, above all. */
interface Verdict {
  /** `account`: the whole channel. `model`: this model on this channel. */
  readonly scope: 'account' | 'model';
  /** Rests at once: nothing can come of asking again soon. */
  readonly certain: boolean;
  readonly firstRestMs: number;
  readonly longestRestMs: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const OVERLOAD: Verdict = { scope: 'model', certain: false, firstRestMs: 5 * SECOND, longestRestMs: 5 * MINUTE };
const REFUSED_ACCOUNT: Verdict = { scope: 'account', certain: true, firstRestMs: MINUTE, longestRestMs: 60 * MINUTE };

const VERDICTS: Partial<Record<ChannelNews['outcome'], Verdict>> = {
  rate: OVERLOAD,
  capacity: OVERLOAD,
  unreachable: { ...OVERLOAD, scope: 'account' },
  auth: REFUSED_ACCOUNT,
  billing: REFUSED_ACCOUNT,
  model: { ...REFUSED_ACCOUNT, scope: 'model' },
};

/** Failures weigh half after this long. */
const HALF_LIFE_MS = MINUTE;
/** So much must have been seen lately before a rate means anything: one error never rests a channel. */
const LEAST_SEEN = 5;
const FAILING_RATE = 0.5;
/** The same for channels with little traffic, whose figures fade before they add up. */
const FAILING_IN_A_ROW = 5;
/** How long a trial call may take before the next one is let through. */
const TRIAL_MS = 30 * SECOND;

/** `resting`: left alone. `trying`: its rest is over and one call at a time finds out. */
export type HealthState = 'healthy' | 'resting' | 'trying';

export interface HealthView {
  /** Empty: the whole channel. */
  readonly model: string;
  readonly state: HealthState;
  readonly reason: string;
  /** Share of failures lately, 0 to 1. */
  readonly failureRate: number;
  /** Unix milliseconds; 0 unless resting. */
  readonly restsUntil: number;
}

interface Gauge {
  seen: number;
  failed: number;
  inARow: number;
  at: number;
  /** Rests in a row without a success between. */
  rests: number;
  restsUntil: number;
  /** Until then another call is finding out. */
  trialUntil: number;
  reason: string;
}

/** Whether a call can be expected to go through. `trial`: one call may find out. */
export type Fitness = 'fit' | 'trial' | 'resting';

/**
 * Knows which channels fail. Each process learns by itself, from its own calls: a circuit breaker per channel and per
 * model on it, with a rolling failure rate, rests that double, and trials that let it come back by itself.
 */
export class Health {
  readonly #gauges = new Map<number, Map<string, Gauge>>();

  /** Answers true when this very news sent the channel to rest, or brought it back. */
  learn(news: ChannelNews, now: number): boolean {
    if (news.outcome === 'ok') return this.#heal(news, now);
    const verdict = VERDICTS[news.outcome];
    if (verdict === undefined) return false;
    // Looking too often says nothing about submitting.
    if (news.during === 'look' && news.outcome === 'rate') return false;
    const gauge = this.#gauge(news.channelId, verdict.scope === 'account' ? '' : (news.model ?? ''), now);
    gauge.seen++;
    gauge.failed++;
    gauge.inARow++;
    if (gauge.restsUntil > now) return false;
    const failing =
      (gauge.seen >= LEAST_SEEN && gauge.failed / gauge.seen >= FAILING_RATE) || gauge.inARow >= FAILING_IN_A_ROW;
    const failedTrial = gauge.rests > 0;
    if (!verdict.certain && !failing && !failedTrial && news.retryAfterMs === undefined) return false;
    const restMs = Math.min(verdict.firstRestMs * 2 ** gauge.rests, verdict.longestRestMs);
    gauge.restsUntil = now + Math.min(Math.max(restMs, news.retryAfterMs ?? 0), verdict.longestRestMs);
    gauge.rests++;
    gauge.trialUntil = 0;
    gauge.reason = news.outcome;
    return true;
  }

  fitness(channelId: number, model: string, now: number): Fitness {
    const gauges = this.#gauges.get(channelId);
    if (gauges === undefined) return 'fit';
    const both = [fitnessOf(gauges.get(''), now), fitnessOf(gauges.get(model), now)];
    if (both.includes('resting')) return 'resting';
    return both.includes('trial') ? 'trial' : 'fit';
  }

  /** Notes that a trial call is on its way, so that nobody else tries meanwhile. */
  beginTrial(channelId: number, model: string, now: number): void {
    for (const scope of ['', model]) {
      const gauge = this.#gauges.get(channelId)?.get(scope);
      if (gauge !== undefined && fitnessOf(gauge, now) === 'trial') gauge.trialUntil = now + TRIAL_MS;
    }
  }

  /** Forgets everything about a channel: it was changed or removed. */
  forget(channelId: number): void {
    this.#gauges.delete(channelId);
  }

  /** The channel as a whole first, then those of its models that there is news of. */
  view(channelId: number, now: number): HealthView[] {
    const gauges = this.#gauges.get(channelId);
    const whole = gauges?.get('') ?? newGauge(now);
    const models = [...(gauges ?? [])].filter(([model]) => model !== '');
    return [toView('', whole, now), ...models.map(([model, gauge]) => toView(model, gauge, now))];
  }

  /** Any success shows that the account is reachable and accepted; only a submit shows that a model takes work. */
  #heal(news: ChannelNews, now: number): boolean {
    const scopes = news.during === 'look' || news.model === undefined ? [''] : ['', news.model];
    let cameBack = false;
    for (const scope of scopes) {
      const gauge = this.#gauges.get(news.channelId)?.get(scope);
      if (gauge === undefined) continue;
      fade(gauge, now);
      gauge.seen++;
      gauge.inARow = 0;
      if (gauge.rests === 0) continue;
      cameBack = true;
      Object.assign(gauge, newGauge(now));
    }
    return cameBack;
  }

  #gauge(channelId: number, scope: string, now: number): Gauge {
    let gauges = this.#gauges.get(channelId);
    if (gauges === undefined) {
      gauges = new Map();
      this.#gauges.set(channelId, gauges);
    }
    let gauge = gauges.get(scope);
    if (gauge === undefined) {
      gauge = newGauge(now);
      gauges.set(scope, gauge);
    }
    fade(gauge, now);
    return gauge;
  }
}

const newGauge = (now: number): Gauge => ({
  seen: 0,
  failed: 0,
  inARow: 0,
  at: now,
  rests: 0,
  restsUntil: 0,
  trialUntil: 0,
  reason: '',
});

function fade(gauge: Gauge, now: number): void {
  const factor = 0.5 ** (Math.max(0, now - gauge.at) / HALF_LIFE_MS);
  gauge.seen *= factor;
  gauge.failed *= factor;
  gauge.at = now;
}

function fitnessOf(gauge: Gauge | undefined, now: number): Fitness {
  if (gauge === undefined || gauge.rests === 0) return 'fit';
  return gauge.restsUntil > now || gauge.trialUntil > now ? 'resting' : 'trial';
}

function toView(model: string, gauge: Gauge, now: number): HealthView {
  const resting = gauge.restsUntil > now;
  return {
    model,
    state: resting ? 'resting' : gauge.rests > 0 ? 'trying' : 'healthy',
    reason: gauge.reason,
    failureRate: gauge.seen === 0 ? 0 : gauge.failed / gauge.seen,
    restsUntil: resting ? gauge.restsUntil : 0,
  };
}
