import { PasswordInput, type PasswordInputProps } from '@mantine/core';
import { PASSWORD_LENGTH } from '../../contract/account-fields.ts';

/** Input for a new password, with the limits the service enforces. */
export function NewPasswordInput(props: PasswordInputProps) {
  return (
    <PasswordInput
      autoComplete="new-password"
      minLength={PASSWORD_LENGTH.min}
      maxLength={PASSWORD_LENGTH.max}
      {...props}
    />
  );
}
