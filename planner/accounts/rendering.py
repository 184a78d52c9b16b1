"""How Django's forms look on our pages: one field like any input of the planner."""

from django.forms.renderers import TemplatesSetting


class Renderer(TemplatesSetting):
    form_template_name = "form/form.html"
    field_template_name = "form/field.html"
