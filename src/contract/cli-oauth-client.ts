/**
 * The official client that is our own command line. Every copy ships the same secret, so it proves nothing about who
 * calls (RFC 8628 section 5.6, RFC 8252 section 8.5): the person's approval does, and administrators can switch the client off.
 */
export const CLI_OAUTH_CLIENT = {
  id: 'reelgate-cli',
  name: 'Reelgate CLI',
  secret: 'rgcs_cli_7wQm2ZkXv9TnB4yLr8Hd3PsGc6JfAe5U',
} as const;
