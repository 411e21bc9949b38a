/** @throws TypeError naming the entry that is neither an origin nor `*` */
export function assertCorsOrigins(origins: readonly string[]): void {
  for (const origin of origins)
    if (origin !== '*' && (!URL.canParse(origin) || new URL(origin).origin !== origin))
      throw new TypeError(`"${origin}" is not an origin such as https://app.example`);
}
