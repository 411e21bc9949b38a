import { authorizePage } from '../../contract/device-authorization-page-endpoints.ts';

/** Where the person confirms the device, without and with the code (RFC 8628 section 3.2). */
export function toVerificationLinks(baseUrl: string, userCode: string) {
  const verification_uri = `${baseUrl}${authorizePage.path}`;
  return { verification_uri, verification_uri_complete: `${verification_uri}?code=${userCode}` };
}
