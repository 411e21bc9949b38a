import type { StopReason } from './neutral-form.ts';

/**
 * Meaning of the stop reasons of all dialects. Compared in lower case without separators, because gateways pass on
 * reasons of one dialect in another.
 */
const REASONS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  end: 'end',
  endturn: 'end',
  eos: 'end',
  eostoken: 'end',
  completed: 'end',
  complete: 'end',
  finished: 'end',
  done: 'end',
  normal: 'end',
  finish: 'end',
  final: 'end',
  natural: 'end',
  ok: 'end',
  success: 'end',
  succeeded: 'end',
  endofturn: 'end',
  endofsequence: 'end',
  eostokenid: 'end',
  stopstr: 'end',
  stoptoken: 'end',
  pauseturn: 'end',
  // Anthropic: the response pauses after the context was summarized.
  compaction: 'end',
  stopsequence: 'stop_sequence',
  length: 'length',
  maxtokens: 'length',
  maxoutputtokens: 'length',
  maxlength: 'length',
  // Cohere
  errorlimit: 'length',
  modelcontextwindowexceeded: 'length',
  toolcalls: 'calls',
  toolcall: 'calls',
  tooluse: 'calls',
  functioncall: 'calls',
  contentfilter: 'refused',
  errortoxic: 'refused',
  hate: 'refused',
  hatespeech: 'refused',
  // DashScope
  datainspectionfailed: 'refused',
  refusal: 'refused',
  safety: 'refused',
  recitation: 'refused',
  blocklist: 'refused',
  prohibitedcontent: 'refused',
  spii: 'refused',
  // Google: the model aborted, or could not express its answer.
  other: 'failed',
  language: 'failed',
  finishreasonunspecified: 'failed',
  malformedfunctioncall: 'failed',
  unexpectedtoolcall: 'failed',
  toomanytoolcalls: 'failed',
  noimage: 'failed',
};

/** Patterns for names that are in no table; the first match counts. */
const FAMILIES: readonly (readonly [RegExp, StopReason])[] = [
  [
    /error|fail|ratelimit|toomanyrequests|quota|resource|abort|cancel|malformed|timeout|unavailable|interrupt|overload/,
    'failed',
  ],
  [/length|limit|maxtoken|maxoutput|token|truncat|context|window/, 'length'],
  [
    /filter|safe|refus|block|prohibit|polic|moderat|censor|sensitiv|recitation|guard|armor|harm|violat|violen|inappropriate|inspect|toxic|sexual|jailbreak/,
    'refused',
  ],
];

/** Undefined for an unknown reason. */
export function readStopReason(word: unknown): StopReason | undefined {
  if (typeof word !== 'string') return undefined;
  const key = word.toLowerCase().replace(/[^a-z0-9]/g, '');
  if (key === '' || key === 'null' || key === 'none') return undefined;
  if (Object.hasOwn(REASONS, key)) return REASONS[key];
  return FAMILIES.find(([pattern]) => pattern.test(key))?.[1] ?? 'failed';
}
