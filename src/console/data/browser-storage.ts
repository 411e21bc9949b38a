const USER_ID_KEY = 'reelgate.user';

/**
 * User id of the last session in this browser, who owns its drafts: drafts survive an expired session, but are deleted
 * when another user signs in.
 */
const LAST_USER_ID_KEY = 'reelgate.last-user';

const readId = (key: string): number | undefined => Number(localStorage.getItem(key)) || undefined;

/**
 * The session is a cookie that scripts cannot read; the console stores only its user id, which every request must
 * contain.
 */
export const readUserId = (): number | undefined => readId(USER_ID_KEY);

/** Stores the user id at sign-in; deletes the drafts of another user, whose organization is not entered either. */
export function storeUserId(id: number): void {
  if (readLastUserId() !== id) {
    clearStoredDrafts();
    storeOrganization(undefined);
  }
  localStorage.setItem(LAST_USER_ID_KEY, String(id));
  localStorage.setItem(USER_ID_KEY, String(id));
}

/** The account of the last session; undefined once it was signed out on purpose. */
export const readLastUserId = (): number | undefined => readId(LAST_USER_ID_KEY);

/** Forgets the user id until the next sign-in, but not what the page works for. */
export const suspendUserId = (): void => localStorage.removeItem(USER_ID_KEY);

/** Calls the listener when another tab signs in, as another account or again, or signs out. */
export function onUserChange(listener: (id: number | undefined) => void, options?: AddEventListenerOptions): void {
  const notice = ({ key }: StorageEvent): void => {
    if (key === USER_ID_KEY) listener(readUserId());
  };
  addEventListener('storage', notice, options);
}

const ORGANIZATION_KEY = 'reelgate.organization';

/** Read once, since what this page shows is of one organization even if another tab enters another one. */
let organization: { readonly slug: string | undefined } | undefined;

/** Slug of the organization the console works for; undefined: the own account. */
export function readOrganization(): string | undefined {
  organization ??= { slug: localStorage.getItem(ORGANIZATION_KEY) ?? undefined };
  return organization.slug;
}

/** Remembers the organization to work for; undefined: the own account. */
function storeOrganization(slug: string | undefined): void {
  organization = { slug };
  if (slug === undefined) localStorage.removeItem(ORGANIZATION_KEY);
  else localStorage.setItem(ORGANIZATION_KEY, slug);
}

/** Works for an organization, or for the own account, from now on; reloads the console, so that nothing is mixed. */
export function enterOrganization(slug: string | undefined): void {
  storeOrganization(slug);
  location.assign('/studio');
}

/** Forgets the user id after the session has ended. */
export function clearUserId(): void {
  storeOrganization(undefined);
  localStorage.removeItem(USER_ID_KEY);
}

/** Prefix of the storage keys of all drafts in this browser. */
export const DRAFT_KEY_PREFIX = 'reelgate.draft';

/** Called on sign-out, before the user id is cleared: the other tabs then know that it is on purpose. */
export function clearStoredDrafts(): void {
  localStorage.removeItem(LAST_USER_ID_KEY);
  for (const key of Object.keys(localStorage)) if (key.startsWith(DRAFT_KEY_PREFIX)) localStorage.removeItem(key);
}
