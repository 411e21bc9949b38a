/** The prefix identifies the kind of a credential. Each kind is searched in its own table only, so none is accepted as another. */
export const CREDENTIAL_PREFIX = {
  session: 'rgs_',
  pendingLogin: 'rgpl_',
  knownDevice: 'rgkd_',
  management: 'rgut_',
  device: 'rgat_',
  model: 'sk-',
  emailLink: 'rgel_',
} as const;
