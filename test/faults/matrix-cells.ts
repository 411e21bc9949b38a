import type { FaultKind } from '../../src/sandbox/faults.ts';
import { TEST_NAMES } from './impatient-door.ts';

/** Where a channel's address leads instead of to its simulator. */
export type Wrong = 'refused' | 'name' | 'tls' | 'connect-hang';

/** Every way an upstream can fail that the sandbox can play, under the name it has in reports. */
export type FaultName = Wrong | '429-date' | '429-absurd' | (typeof PLAYED)[number];

const PLAYED = [
  'hang',
  'hang-after',
  'reset',
  'drop',
  'truncated',
  'slow',
  'malformed',
  'html',
  'empty',
  '500',
  '502',
  '503',
  '504',
  '429',
  '401',
  '403',
  'huge',
  'bomb',
  'deep',
  'wrong-types',
  'duplicate',
  'reordered',
] as const satisfies readonly FaultKind[];

export const WRONG: readonly Wrong[] = ['refused', 'name', 'tls', 'connect-hang'];
export const FAULTS: readonly FaultName[] = [...WRONG, ...PLAYED, '429-date', '429-absurd'];

export const isWrong = (fault: FaultName): fault is Wrong => (WRONG as readonly string[]).includes(fault);

/** The sandbox's word for a fault, and what it sends as Retry-After. */
export function played(fault: Exclude<FaultName, Wrong>): { kind: FaultKind; retryAfter?: string } {
  if (fault === '429') return { kind: '429', retryAfter: '1' };
  if (fault === '429-date') return { kind: '429', retryAfter: new Date(Date.now() + 2_000).toUTCString() };
  if (fault === '429-absurd') return { kind: '429', retryAfter: '99999999999999999999 years' };
  return { kind: fault };
}

/** `address`, led astray. */
export function astray(address: string, wrong: Wrong): string {
  const url = new URL(address);
  if (wrong === 'refused') url.port = '1';
  if (wrong === 'name') url.hostname = TEST_NAMES.absent;
  if (wrong === 'connect-hang') url.hostname = TEST_NAMES.silent;
  // The simulator speaks plain HTTP there.
  return wrong === 'tls' ? url.href.replace(/^http:/, 'https:') : url.href;
}

const NEXT_CHANNEL: readonly FaultName[] = [
  ...WRONG,
  '500',
  '502',
  '503',
  '504',
  '429',
  '429-date',
  '429-absurd',
  '401',
  '403',
];

/** What must come of a submit whose first try meets the fault, with a second channel standing by. */
export function endOfSubmit(fault: FaultName): 'next-channel' | 'untouched' | 'lost' {
  if (NEXT_CHANNEL.includes(fault)) return 'next-channel';
  return fault === 'reordered' ? 'untouched' : 'lost';
}

/** Faults of an answer that says by its head alone where the file is. */
const AFTER_THE_HEAD: readonly FaultName[] = ['truncated', 'slow', 'malformed', 'huge', 'bomb', 'deep', 'wrong-types'];

/** What must come of a request for the file whose first exchange meets the fault; `redirects`: it is answered by another host. */
export function endOfContent(fault: FaultName, redirects: boolean): 'file' | 'refused' | 'cut' | 'broken' | 'strange' {
  if (redirects && AFTER_THE_HEAD.includes(fault)) return 'file';
  switch (fault) {
    // A refused address may have expired: the vendor is asked for another.
    case '401':
    case '403':
    case 'reordered':
    // A file is no JSON whose values could change.
    case 'wrong-types':
      return 'file';
    case 'slow':
      return 'cut';
    case 'truncated':
    case 'huge':
      return 'broken';
    case 'malformed':
    case 'html':
    case 'empty':
    case 'deep':
    // The answer before may have been anything.
    case 'duplicate':
      return 'strange';
    default:
      return 'refused';
  }
}
