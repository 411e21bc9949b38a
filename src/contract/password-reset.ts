import Type from 'typebox';
import { Email, LinkToken, Password } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Done } from './schemas.ts';

export const requestPasswordReset = endpoint({
  method: 'POST',
  path: '/api/user/password-reset',
  summary:
    'Send a link for a new password, if an account has confirmed this e-mail; the answer is the same if none has',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  body: Type.Object({ email: Email }),
  response: Done,
});

export const resetPassword = endpoint({
  method: 'POST',
  path: '/api/user/password-reset/confirm',
  summary: 'Set a new password by the link of the e-mail; once, within 30 minutes. Ends every sign-in of the account',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  body: Type.Object({ token: LinkToken, password: Password }),
  response: Done,
});
