import { Button, FileButton, Group, Input, Select, Text, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { SiteSetting } from '../../../../contract/site-settings.ts';
import { useToasts } from '../../../components/toasts.tsx';
import { useFormatCredits } from '../../../components/use-format-credits.ts';
import { readFileAsDataUrl } from '../../../data/read-file-as-data-url.ts';
import type en from '../../../strings/en/admin-settings.ts';

const MAX_LOGO_BYTES = 90 * 1024;
const LOGO_TYPES = 'image/png,image/webp,image/jpeg';

interface SettingFieldProps {
  readonly setting: SiteSetting;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The field of a setting by its kind. */
export function SettingField({ setting, value, onChange }: SettingFieldProps) {
  const { t } = useTranslation('admin-settings');
  const formatCredits = useFormatCredits();
  const name = setting.name as keyof typeof en.names;
  const common = {
    label: t(`names.${name}`),
    description: t(`hints.${name}`),
    disabled: !setting.editable,
    flex: 1,
  };
  const isAmount = setting.name.endsWith('_QUOTA') && /^\d+$/.test(value);
  if (setting.kind === 'picture') return <LogoField {...common} onChange={onChange} />;
  if (setting.kind === 'choice')
    return (
      <Select
        {...common}
        data={setting.choices.map((each) => ({
          value: each,
          label: t(`choices.${each as keyof typeof en.choices}`),
        }))}
        value={value}
        allowDeselect={false}
        onChange={(each) => onChange(each ?? '')}
      />
    );
  if (setting.kind === 'long-text')
    return (
      <Textarea
        {...common}
        autosize
        minRows={2}
        maxLength={500}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  return (
    <TextInput
      {...common}
      inputMode={setting.kind === 'number' ? 'numeric' : 'text'}
      value={setting.editable || value !== '' ? value : t(setting.is_set ? 'set' : 'notSet')}
      rightSection={
        isAmount ? (
          <Text size="xs" c="dimmed" pr="sm">
            {t('inCredits', { credits: formatCredits(Number(value)) })}
          </Text>
        ) : undefined
      }
      rightSectionWidth={isAmount ? 150 : undefined}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface LogoFieldProps {
  readonly label: string;
  readonly description: string;
  readonly disabled: boolean;
  readonly onChange: (dataUrl: string) => void;
}

function LogoField({ label, description, disabled, onChange }: LogoFieldProps) {
  const { t } = useTranslation('admin-settings');
  const toasts = useToasts();
  const read = (file: File | null): void => {
    if (file === null) return;
    if (file.size > MAX_LOGO_BYTES || !LOGO_TYPES.includes(file.type)) {
      toasts.error(t('logoTooLarge'));
      return;
    }
    readFileAsDataUrl(file).then(onChange, () => toasts.error(t('logoTooLarge')));
  };
  return (
    <Input.Wrapper label={label} description={description} labelElement="div" flex={1}>
      <Group mt={6}>
        <img src="/logo" width={40} height={40} alt="" />
        <FileButton accept={LOGO_TYPES} onChange={read}>
          {(props) => (
            <Button {...props} variant="default" size="sm" disabled={disabled}>
              {t('chooseLogo')}
            </Button>
          )}
        </FileButton>
      </Group>
    </Input.Wrapper>
  );
}
