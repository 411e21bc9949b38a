import type { FaultKind } from './faults.ts';

/** Markers that cause a fault when written into a prompt; all of them affect the submit or the job it begins. */
export const PROMPT_MARKERS: Readonly<Record<string, FaultKind>> = {
  '[fail]': 'job-fail',
  '[filtered]': 'job-filtered',
  '[slow]': 'job-slow',
  '[stuck]': 'job-stuck',
  '[expire]': 'job-expire',
  '[cancel]': 'job-cancel',
  '[vanish]': 'job-vanish',
  '[empty]': 'job-empty',
  '[strange]': 'job-strange',
  '[policy]': 'policy',
  '[invalid]': 'invalid',
  '[rate]': 'rate',
  '[billing]': 'billing',
  '[429]': '429',
  '[500]': '500',
  '[503]': '503',
  '[html]': 'html',
  '[drop]': 'drop',
  '[hang]': 'hang',
};

const MARKER_PATTERN = /\[[a-z0-9]{3,8}\]/g;
/** A prompt is short; longer texts are pictures. */
const SEARCHED_BYTES = 64 * 1024;

/** The first marker in a submit's body. */
export function findMarker(body: Buffer): FaultKind | undefined {
  if (!body.subarray(0, SEARCHED_BYTES).includes('[')) return undefined;
  const ends = [
    body.subarray(0, SEARCHED_BYTES),
    body.subarray(Math.max(SEARCHED_BYTES, body.length - SEARCHED_BYTES)),
  ];
  for (const end of ends) {
    for (const [word] of end.toString('latin1').matchAll(MARKER_PATTERN)) {
      const kind = PROMPT_MARKERS[word];
      if (kind !== undefined) return kind;
    }
  }
  return undefined;
}
