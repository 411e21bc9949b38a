import { invalidRequest } from '../platform/app-error.ts';
import { isCloudMetadataIp, isPublicIp } from '../platform/outbound/guard.ts';

/** Endpoints of the chat dialects and video vendors as they appear at the end of an address copied from an example. */
const ENDPOINT = new RegExp(
  `/(?:${[
    // OpenAI
    'chat/completions|completions|responses|embeddings|moderations|images/(?:generations|edits|variations)',
    'audio/(?:speech|transcriptions|translations)|videos',
    // Anthropic
    'messages(?:/count_tokens|/batches)?',
    // Gemini, Veo
    'models/[^/]+:[a-z]+',
    // Kling, Runway, Vidu, Hailuo
    'videos/(?:text2video|image2video|omni-video)|(?:text|image|video)_to_video',
    '(?:text2|img2|start-end2|reference2)video|(?:query/)?video_generation',
    // Seedance, Wan
    'contents/generations/tasks|services/aigc/[a-z0-9-]+/[a-z-]+',
  ].join('|')})$`,
  'i',
);
/** A base URL may itself end in this word, so it is only cut off after a version. */
const MODEL_LIST = /(\/v\d[a-z0-9.]*(?:\/openai)?)\/models$/i;

/**
 * Validates and normalizes an upstream's base URL: scheme, host, port, and the path below which its endpoints are. The
 * outbound client checks the resolved address again on every call.
 *
 * @throws AppError `invalid_request`
 */
export function parseBaseUrl(text: string, isPrivate: boolean): string {
  const invalidUrl = (why: string) => invalidRequest(`base_url ${why}.`, 'base_url');
  const url = URL.parse(text.trim());
  if (url === null) throw invalidUrl('is not a URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw invalidUrl('must start with https://');
  if (url.username !== '' || url.password !== '') throw invalidUrl('must not hold credentials');
  if (text.includes('#')) throw invalidUrl('must have no fragment');
  if (text.includes('?')) throw invalidUrl('must have no query: an API version goes into options.api_version');
  if (/[{}<>]|%7[BD]/i.test(text)) throw invalidUrl('still has a placeholder: put your own name in its place');
  if (isMetadataUrl(text)) throw invalidUrl('is where a cloud hands out the secrets of its machines');
  const address = url.origin + toBasePath(url.pathname);
  if (isPrivate) return address;
  if (url.protocol === 'http:') throw invalidUrl('must start with https:// unless options.private is true');
  if (isPrivateHostname(url.hostname))
    throw invalidUrl('is a loopback or private address, which needs options.private to be true');
  return address;
}

/** The path of a base URL without trailing slashes and without an endpoint pasted with it. */
function toBasePath(pathname: string): string {
  const path = pathname.replace(/\/{2,}/g, '/').replace(/\/$/, '');
  return path.replace(ENDPOINT, '').replace(MODEL_LIST, '$1');
}

/** Host names under which clouds serve their metadata; `isCloudMetadataIp` knows their IP addresses. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
]);

/** Whether a text is the URL of a cloud's metadata service, which is forbidden even for private channels. */
export function isMetadataUrl(text: string): boolean {
  const name = URL.parse(text.trim())?.hostname.replace(/\.$/, '').toLowerCase() ?? '';
  return METADATA_NAMES.has(name) || isCloudMetadataIp(name.replace(/^\[|\]$/g, ''));
}

/**
 * Whether a host name is private: names no public host has (RFC 6761, RFC 6762, RFC 8375 and the metadata names of
 * clouds), and every address that is not public.
 */
export function isPrivateHostname(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  if (name.startsWith('[')) return !isPublicIp(name.slice(1, -1));
  if (/^[\d.]+$/.test(name)) return !isPublicIp(name);
  return !name.includes('.') || /\.(?:localhost|local|internal|intranet|lan|home\.arpa)$/.test(name);
}
