/** Where PostgreSQL is: what a connection url of libpq says, as far as `pg` does not read it itself. */
export interface PostgresLocation {
  /** A url with one host each, for `pg`; in the order in which they are tried. */
  readonly hostUrls: readonly [string, ...string[]];
  /** Only a server that takes writes is used: the others of a replicated pair are skipped. */
  readonly mustBeWritable: boolean;
  /** `poolMax` of the url. */
  readonly poolMax: number | undefined;
}

const SESSION_ATTRIBUTES = ['any', 'read-write', 'primary'];
const URL_PARTS = /^(postgres(?:ql)?:\/\/)((?:[^@/?#]*@)?)([^/?#]*)(.*)$/s;

/**
 * Reads `postgres://user:password@a:5432,b:5432/name?target_session_attrs=read-write`: several hosts, of which the first
 * that answers and takes writes is used (libpq, section "Specifying Multiple Hosts"). With several hosts `read-write` is
 * the default of `target_session_attrs`, since the service always writes.
 *
 * @throws TypeError with one line that says what is wrong; it contains no password
 */
export function parsePostgresUrl(url: string): PostgresLocation {
  const [, scheme, user = '', hosts, rest = ''] = URL_PARTS.exec(url) ?? [];
  if (scheme === undefined || hosts === undefined) throw new TypeError('must start with postgres://');
  const names = hosts.split(',');
  if (names.length > 1 && names.includes('')) throw new TypeError('has an empty host in its list');
  const urls = names.map((host) => {
    // Only a socket's folder may stand in for a host, and `URL` demands one.
    const single = `${scheme}${user}${host || 'localhost'}${rest}`;
    if (!URL.canParse(single)) throw new TypeError(`has a host that cannot be read: "${host}"`);
    return new URL(single);
  });
  const parameters = (urls[0] as URL).searchParams;
  const attributes = parameters.get('target_session_attrs') ?? (urls.length > 1 ? 'read-write' : 'any');
  if (!SESSION_ATTRIBUTES.includes(attributes))
    throw new TypeError(`target_session_attrs must be one of ${SESSION_ATTRIBUTES.join(', ')}, not "${attributes}"`);
  const poolMax = parameters.get('poolMax');
  if (poolMax !== null && !/^[1-9]\d{0,2}$/.test(poolMax)) throw new TypeError('poolMax must be 1 to 999');
  for (const { searchParams } of urls) for (const own of ['target_session_attrs', 'poolMax']) searchParams.delete(own);
  return {
    hostUrls: urls.map(({ href }) => href) as [string, ...string[]],
    mustBeWritable: attributes !== 'any',
    poolMax: poolMax === null ? undefined : Number(poolMax),
  };
}
