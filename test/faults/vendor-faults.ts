import type { FaultKind } from '../../src/sandbox/faults.ts';
import { TEST_NAMES } from './impatient-client.ts';

/** Where the base URL of a misconfigured channel leads, instead of to its simulator. */
export type ChannelMisconfiguration = 'refused' | 'name' | 'tls' | 'connect-hang';

/** Every upstream failure the sandbox can simulate, by its name in reports. */
export type FaultName = ChannelMisconfiguration | '429-date' | '429-absurd' | (typeof SANDBOX_FAULTS)[number];

const SANDBOX_FAULTS = [
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

/** All misconfigurations of a channel's base URL. */
export const MISCONFIGURATIONS: readonly ChannelMisconfiguration[] = ['refused', 'name', 'tls', 'connect-hang'];
/** All faults of the matrix. */
export const FAULTS: readonly FaultName[] = [...MISCONFIGURATIONS, ...SANDBOX_FAULTS, '429-date', '429-absurd'];

/** Whether the fault is caused by the base URL instead of the sandbox. */
export const isMisconfiguration = (fault: FaultName): fault is ChannelMisconfiguration =>
  (MISCONFIGURATIONS as readonly string[]).includes(fault);

/** Faults of a submit that end with a timeout; a submit with another fault keeps the real timeouts. */
export const TIMED_FAULTS: ReadonlySet<FaultName> = new Set([
  'connect-hang',
  'hang',
  'hang-after',
  'slow',
  'huge',
  'bomb',
]);

/** The sandbox's name for a fault, and the Retry-After it sends. */
export function toSandboxFault(fault: Exclude<FaultName, ChannelMisconfiguration>): {
  kind: FaultKind;
  retryAfter?: string;
} {
  if (fault === '429') return { kind: '429', retryAfter: '1' };
  if (fault === '429-date') return { kind: '429', retryAfter: new Date(Date.now() + 2_000).toUTCString() };
  if (fault === '429-absurd') return { kind: '429', retryAfter: '99999999999999999999 years' };
  return { kind: fault };
}

/** The URL `address`, changed so that it no longer leads to the simulator. */
export function toMisconfiguredUrl(address: string, wrong: ChannelMisconfiguration): string {
  const url = new URL(address);
  if (wrong === 'refused') url.port = '1';
  if (wrong === 'name') url.hostname = TEST_NAMES.absent;
  if (wrong === 'connect-hang') url.hostname = TEST_NAMES.silent;
  // The simulator speaks plain HTTP there.
  return wrong === 'tls' ? url.href.replace(/^http:/, 'https:') : url.href;
}

const NEXT_CHANNEL: readonly FaultName[] = [
  ...MISCONFIGURATIONS,
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

/** The expected outcome of a submit whose first attempt meets the fault while a second channel is available. */
export function expectedSubmitOutcome(fault: FaultName): 'next-channel' | 'untouched' | 'lost' {
  if (NEXT_CHANNEL.includes(fault)) return 'next-channel';
  return fault === 'reordered' ? 'untouched' : 'lost';
}

/** Faults in the response after its headers, which do not affect a redirect: its headers name the file's URL. */
const AFTER_THE_HEAD: readonly FaultName[] = ['truncated', 'slow', 'malformed', 'huge', 'bomb', 'deep', 'wrong-types'];

/**
 * The expected outcome of a file request whose first exchange fails this way; `redirects`: another host serves the
 * file.
 */
export function expectedContentOutcome(fault: FaultName, redirects: boolean): 'file' | 'refused' | 'cut' | 'strange' {
  if (redirects && AFTER_THE_HEAD.includes(fault)) return 'file';
  switch (fault) {
    // A refused URL may have expired, so the service requests another one from the vendor.
    case '401':
    case '403':
    case 'reordered':
    // A file has no JSON values whose types could change.
    case 'wrong-types':
      return 'file';
    case 'slow':
    // A short file is recognized as truncated before its first byte is sent.
    case 'truncated':
      return 'cut';
    case 'malformed':
    case 'html':
    case 'empty':
    case 'deep':
    // The duplicated previous response may have had any content.
    case 'duplicate':
      return 'strange';
    default:
      return 'refused';
  }
}
