import { Anchor, FileButton, PasswordInput, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CredentialField } from '../../../data/vendor-queries.ts';

interface CredentialInputProps {
  readonly name: string;
  readonly kind: CredentialField['kind'];
  readonly required: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** One field of a credential; what is stored of it is never shown. */
export function CredentialFieldInput({ name, kind, required, value, onChange }: CredentialInputProps) {
  const { t } = useTranslation('admin-channels');
  // The vendors' own names, as administrators find them in the vendors' consoles; an unknown name is shown unchanged.
  const label = t(`credentials.fields.${name}` as 'credentials.fields.api_key', { defaultValue: name });
  const shared = { label, required, value } as const;
  if (kind === 'json') {
    return (
      <Textarea
        {...shared}
        description={
          <FileButton accept="application/json" onChange={(file) => void file?.text().then(onChange)}>
            {(props) => (
              <Anchor component="button" type="button" size="xs" {...props}>
                {t('credentials.fromFile')}
              </Anchor>
            )}
          </FileButton>
        }
        placeholder='{"type": "service_account", …}'
        autosize
        minRows={3}
        maxRows={8}
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  const Input = kind === 'secret' ? PasswordInput : TextInput;
  return (
    <Input
      {...shared}
      autoComplete="off"
      spellCheck={false}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
