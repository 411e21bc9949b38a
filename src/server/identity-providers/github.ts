import * as client from 'openid-client';
import { GITHUB_ISSUER, type IdentityProvider } from '../../contract/identity-providers.ts';

const API = 'https://api.github.com';

/** GitHub speaks OAuth 2.0 only: fixed endpoints, and the person from its API. */
export const makeGithubConfiguration = ({ client_id, client_secret }: IdentityProvider): client.Configuration =>
  new client.Configuration(
    {
      issuer: GITHUB_ISSUER,
      authorization_endpoint: `${GITHUB_ISSUER}/login/oauth/authorize`,
      token_endpoint: `${GITHUB_ISSUER}/login/oauth/access_token`,
    },
    client_id,
    { client_secret },
    client.ClientSecretPost(client_secret),
  );

/** The person as claims of OpenID Connect. The e-mail is the primary one, if GitHub has verified it. */
export async function readGithubClaims(
  configuration: client.Configuration,
  accessToken: string,
): Promise<Record<string, unknown> & { readonly iss: string; readonly sub: string }> {
  const read = async (path: string): Promise<unknown> => {
    const headers = new Headers({ accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' });
    const url = new URL(`${API}${path}`);
    const response = await client.fetchProtectedResource(configuration, accessToken, url, 'GET', undefined, headers);
    if (!response.ok) throw new Error(`GitHub answered ${path} with ${response.status}`, { cause: response });
    return response.json();
  };
  const { id, login, name } = (await read('/user')) as Readonly<Record<string, unknown>>;
  if (typeof id !== 'number' || !Number.isSafeInteger(id)) throw new Error('GitHub sent no id of the person');
  const emails = (await read('/user/emails')) as readonly Readonly<Record<string, unknown>>[];
  const primary = Array.isArray(emails) ? emails.find((each) => each.primary === true && each.verified === true) : {};
  return {
    iss: GITHUB_ISSUER,
    sub: String(id),
    preferred_username: login,
    name,
    email: primary?.email,
    email_verified: primary?.verified,
  };
}
