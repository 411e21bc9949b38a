import i18next from 'i18next';

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const isField = (target: EventTarget | null): target is Field =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;

/**
 * Replaces the browser's validation messages, which are in the browser's language instead of the selected one. Each
 * field gets our text when it is found invalid and loses it on the next change, because a remaining text would keep the
 * field invalid.
 */
export function translateValidationMessages(): void {
  document.addEventListener(
    'invalid',
    ({ target }) => {
      if (!isField(target)) return;
      target.setCustomValidity('');
      if (!target.validity.valid) target.setCustomValidity(messageFor(target));
    },
    true,
  );
  for (const event of ['input', 'change'])
    document.addEventListener(
      event,
      ({ target }) => {
        if (isField(target)) target.setCustomValidity('');
      },
      true,
    );
}

function messageFor(field: Field): string {
  const { validity } = field;
  const limit = (name: string): string => field.getAttribute(name) ?? '';
  if (validity.valueMissing) return i18next.t('validation.required');
  if (validity.typeMismatch) return i18next.t(field.type === 'email' ? 'validation.email' : 'validation.url');
  if (validity.tooShort) return i18next.t('validation.tooShort', { min: limit('minlength') });
  if (validity.tooLong) return i18next.t('validation.tooLong', { max: limit('maxlength') });
  if (validity.rangeUnderflow) return i18next.t('validation.min', { min: limit('min') });
  if (validity.rangeOverflow) return i18next.t('validation.max', { max: limit('max') });
  return i18next.t('validation.format');
}
