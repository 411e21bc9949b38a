import Type from 'typebox';
import { Email, Password } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Done, Ok } from './schemas.ts';

const LinkToken = Type.String({ minLength: 1, maxLength: 200, description: 'what stands behind # in the link' });

export const getEmail = endpoint({
  method: 'GET',
  path: '/api/user/email',
  summary: 'The e-mail of the account, and whether it is confirmed',
  tag: 'accounts',
  policy: 'account',
  envelope: 'api',
  response: Ok(
    Type.Object({
      email: Type.String({ description: 'empty: none' }),
      confirmed: Type.Boolean({ description: 'it counts for login' }),
      can_confirm: Type.Boolean({
        description: 'whether the service sends e-mail; where not, an address counts at once',
      }),
    }),
  ),
});

export const resendConfirmation = endpoint({
  method: 'POST',
  path: '/api/user/email/confirmation',
  summary: 'Send the link that confirms the e-mail again',
  tag: 'accounts',
  policy: 'owner',
  envelope: 'api',
  response: Done,
});

export const confirmEmail = endpoint({
  method: 'POST',
  path: '/api/user/email/confirm',
  summary: 'Confirm an e-mail by the link that was sent to it; once, within 24 hours',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  body: Type.Object({ token: LinkToken }),
  response: Done,
});

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
