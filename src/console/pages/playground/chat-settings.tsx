import { JsonInput, NumberInput, Select, Stack, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { usableModelsQuery } from '../../data/usable-models-query.ts';
import type { ChatSettings as Settings } from './stored-conversations.ts';

interface ChatSettingsProps {
  readonly settings: Settings;
  readonly onChange: (part: Partial<Settings>) => void;
}

/** Model, system prompt and parameters of a conversation. */
export function ChatSettings({ settings, onChange }: ChatSettingsProps) {
  const { t } = useTranslation('playground');
  const models = useQuery(usableModelsQuery);
  const chatModels = (models.data ?? []).filter(({ kind, permitted }) => kind === 'chat' && permitted);
  return (
    <Stack gap="sm">
      <Select
        label={t('model')}
        data={chatModels.map(({ id }) => id)}
        value={settings.model === '' ? null : settings.model}
        onChange={(model) => onChange({ model: model ?? '' })}
        searchable
        allowDeselect={false}
        placeholder={t('chooseModel')}
        nothingFoundMessage={t('noModel')}
      />
      <Textarea
        label={t('system')}
        autosize
        minRows={2}
        maxRows={8}
        value={settings.system}
        onChange={({ currentTarget: { value } }) => onChange({ system: value })}
      />
      <NumberInput
        label={t('temperature')}
        placeholder={t('byModel')}
        min={0}
        max={2}
        step={0.1}
        decimalScale={2}
        value={settings.temperature}
        onChange={(temperature) => onChange({ temperature })}
      />
      <NumberInput
        label={t('maxTokens')}
        placeholder={t('byModel')}
        min={1}
        allowDecimal={false}
        value={settings.maxTokens}
        onChange={(maxTokens) => onChange({ maxTokens })}
      />
      <JsonInput
        label={t('tools')}
        description={t('toolsHint')}
        validationError={t('toolsInvalid')}
        autosize
        minRows={2}
        maxRows={10}
        value={settings.tools}
        onChange={(tools) => onChange({ tools })}
      />
    </Stack>
  );
}
