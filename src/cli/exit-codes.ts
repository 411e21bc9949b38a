/** Exit statuses, so that scripts can distinguish outcomes. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  signIn: 3,
  quota: 4,
  taskFailed: 5,
  timeout: 6,
  network: 7,
  interrupted: 130,
} as const;
