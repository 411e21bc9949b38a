import { AppError } from './app-error.ts';

/** The headers of a request that make it conditional, except If-Range. */
export interface ConditionalRequest {
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
  readonly ifModifiedSince?: string;
  readonly ifUnmodifiedSince?: string;
}

/** Known facts about the version of a file that would be sent. */
export interface Validators {
  /** Quoted, perhaps weak. */
  readonly etag?: string | undefined;
  /** Unix milliseconds. */
  readonly modifiedAt?: number | undefined;
}

/**
 * Evaluates the preconditions of a GET or HEAD in their order (RFC 9110 section 13.2.2). A date counts only for a file
 * whose time of change is known, and where there is no tag to compare.
 * @returns `unchanged`: the response is 304
 * @throws AppError `precondition_failed`
 */
export function evaluatePreconditions(
  { etag, modifiedAt }: Validators,
  request: ConditionalRequest,
): 'send' | 'unchanged' {
  const { ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince } = request;
  const hasChangedSince = (date: string | undefined): boolean | undefined => {
    const since = Date.parse(date ?? '');
    // HTTP dates have a resolution of one second.
    return modifiedAt === undefined || Number.isNaN(since) ? undefined : Math.floor(modifiedAt / 1_000) * 1_000 > since;
  };
  const isMet = ifMatch === undefined ? hasChangedSince(ifUnmodifiedSince) !== true : matchesStrongly(ifMatch, etag);
  if (!isMet) throw new AppError('precondition_failed');
  const isUnchanged =
    ifNoneMatch === undefined ? hasChangedSince(ifModifiedSince) === false : matchesWeakly(ifNoneMatch, etag);
  return isUnchanged ? 'unchanged' : 'send';
}

const tagsOf = (header: string): string[] => header.split(',').map((each) => each.trim());

/** The file exists, so `*` matches it (section 13.1.1). */
const matchesStrongly = (header: string, etag: string | undefined): boolean =>
  header.trim() === '*' || (etag !== undefined && !etag.startsWith('W/') && tagsOf(header).includes(etag));

/** Section 13.1.2. A file whose tag is unknown is sent in full, which costs a transfer and confuses no cache. */
const matchesWeakly = (header: string, etag: string | undefined): boolean =>
  etag !== undefined && (header.trim() === '*' || tagsOf(header).some((each) => opaque(each) === opaque(etag)));

const opaque = (etag: string): string => etag.replace(/^W\//, '');
