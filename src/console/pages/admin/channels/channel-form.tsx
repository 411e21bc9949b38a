import { Button, Collapse, Stack, Switch, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { SaveForm } from '../../../components/save-form.tsx';
import { useFormValues } from '../../../components/use-form-values.ts';
import type { Vendor } from '../../../data/vendor-queries.ts';
import type { ChannelFormValues } from './channel-form-values.ts';
import { CredentialFields } from './credential-fields.tsx';
import { isPrivateAddress } from './is-private-address.ts';
import { UpstreamRequestFields } from './model-mapping-header-and-proxy-fields.tsx';
import { CredentialLineError } from './parse-credential-lines.ts';
import { PriorityWeightAndTaskLimitFields } from './priority-weight-and-task-limit-fields.tsx';
import { ServedModelsField } from './served-models-field.tsx';

interface ChannelFormProps {
  readonly vendor: Vendor;
  readonly initial: ChannelFormValues;
  readonly isNew: boolean;
  /** Several credentials are changed in a panel of their own. */
  readonly hasSeveralCredentials?: boolean;
  readonly submitLabel: string;
  readonly save: (draft: ChannelFormValues) => Promise<void>;
}

/** All settings of an upstream account; rarely changed settings are collapsed. */
export function ChannelForm({
  vendor,
  initial,
  isNew,
  hasSeveralCredentials = false,
  submitLabel,
  save,
}: ChannelFormProps) {
  const { t } = useTranslation('admin-channels');
  const { draft, set, text, value, checked } = useFormValues(initial);
  const [more, { toggle }] = useDisclosure(!isNew);
  const isPrivate = draft.options.private === true;
  return (
    <SaveForm
      submitLabel={submitLabel}
      save={() => save(draft)}
      explain={(error) => {
        if (error instanceof CredentialLineError) return new Error(t('credentials.badLine', { line: error.line }));
        return error instanceof SyntaxError ? new Error(t('channels.noJson')) : error;
      }}
    >
      <TextInput
        label={t('channels.name')}
        description={t('channels.nameHint')}
        maxLength={100}
        required
        {...text('name')}
      />
      {hasSeveralCredentials ? null : <CredentialFields vendor={vendor} draft={draft} isNew={isNew} onChange={set} />}
      <ServedModelsField vendor={vendor.name} {...value('models')} isNew={isNew} />
      <div>
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          onClick={toggle}
          aria-expanded={more}
          rightSection={<IconChevronDown size={14} style={{ transform: more ? 'rotate(180deg)' : 'none' }} />}
        >
          {t('channels.advanced')}
        </Button>
      </div>
      <Collapse expanded={more}>
        <Stack>
          <TextInput
            label={t('channels.baseUrl')}
            description={t('channels.baseUrlHint')}
            placeholder={vendor.base_url}
            type="url"
            {...text('baseUrl')}
          />
          {isPrivate || isPrivateAddress(draft.baseUrl) ? (
            <Switch
              label={t('channels.private')}
              description={t('channels.privateHint')}
              checked={isPrivate}
              onChange={(event) => set({ options: { ...draft.options, private: event.currentTarget.checked } })}
            />
          ) : null}
          <PriorityWeightAndTaskLimitFields value={value} hasVideos={vendor.kind === 'video'} />
          <UpstreamRequestFields text={text} />
        </Stack>
      </Collapse>
      <Switch label={t('channels.enabled')} description={t('channels.enabledHint')} {...checked('enabled')} />
    </SaveForm>
  );
}
