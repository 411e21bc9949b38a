/** The parts of package-lock.json (version 3) used here; keys of `packages` are folders. */
export interface Lock {
  packages: Record<string, LockEntry>;
}

/** Entry of one package in the lock. */
export interface LockEntry {
  version?: string;
  /** Hash of the packed file (Subresource Integrity). */
  integrity?: string;
  dev?: boolean;
  /** A link to a folder of this repository. */
  link?: boolean;
  optional?: boolean;
  cpu?: string[];
  os?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'aix', 'win32'];
const PROCESSORS = ['arm64', 'arm', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'];

/** Whether npm downloads the package: not the root, nor folders of this repository and links to them. */
export const isFromRegistry = (folder: string, { link }: LockEntry): boolean =>
  folder.includes('node_modules/') && link !== true;

/** Optional packages that some package of the lock names but the lock does not contain; `npm ci` refuses such a lock. */
export const missingOptional = (lock: Lock): { name: string; range: string; dependent: LockEntry }[] =>
  Object.entries(lock.packages).flatMap(([folder, dependent]) =>
    Object.entries(dependent.optionalDependencies ?? {}).flatMap(([name, range]) =>
      hasPackage(lock, folder, name) ? [] : [{ name, range, dependent }],
    ),
  );

/** Entries for the missing packages whose version is exact, as those of platform packages are: folder to entry. */
export function missingEntries(lock: Lock): Record<string, LockEntry> {
  const missing: Record<string, LockEntry> = {};
  for (const { name, range, dependent } of missingOptional(lock)) {
    if (!/^\d+\.\d+\.\d+/.test(range)) continue;
    missing[`node_modules/${name}`] = {
      version: range,
      ...platformOf(name),
      ...(dependent.dev === true ? { dev: true } : {}),
      optional: true,
    };
  }
  return missing;
}

/** Adds the missing packages in npm's order and returns their folders. */
export function completeLock(lock: Lock): string[] {
  const missing = missingEntries(lock);
  const all = Object.entries({ ...lock.packages, ...missing });
  lock.packages = Object.fromEntries(all.sort(([a], [b]) => a.localeCompare(b, 'en')));
  return Object.keys(missing);
}

/** Resolves a package as Node does: in the folder's own node_modules, then in each parent's. */
function hasPackage(lock: Lock, folder: string, name: string): boolean {
  for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    if (lock.packages[`${at === '' ? '' : `${at}/`}node_modules/${name}`] !== undefined) return true;
    if (at === '') return false;
  }
}

/** Reads system and processor from a platform package's name, such as `binding-linux-x64-musl`. */
function platformOf(name: string): Pick<LockEntry, 'cpu' | 'os' | 'libc'> {
  const parts = name.split(/[/-]/);
  const os = SYSTEMS.find((system) => parts.includes(system));
  const cpu = PROCESSORS.find((processor) => parts.includes(processor));
  const libc = parts.some((part) => part.startsWith('musl'))
    ? 'musl'
    : parts.some((part) => part.startsWith('gnu'))
      ? 'glibc'
      : undefined;
  return {
    ...(cpu === undefined ? {} : { cpu: [cpu] }),
    ...(libc === undefined || os !== 'linux' ? {} : { libc: [libc] }),
    ...(os === undefined ? {} : { os: [os] }),
  };
}
