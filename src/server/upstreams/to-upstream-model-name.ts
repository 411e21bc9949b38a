/** A channel, as far as the names of models go. */
interface NamesOfUpstream {
  /** Names the upstream has for models, by our names. Absent: the same. */
  readonly modelMapping?: Readonly<Record<string, string>> | undefined;
}

/** The name an upstream has for a model: by the name the caller used (`id`), else by what that is an alias of (`target`). */
export function toUpstreamModelName(
  { modelMapping }: NamesOfUpstream,
  { id, target }: { readonly id: string; readonly target: string },
): string {
  if (modelMapping === undefined) return target;
  const mapped = [id, target].find((name) => Object.hasOwn(modelMapping, name));
  return mapped === undefined ? target : (modelMapping[mapped] ?? target);
}
