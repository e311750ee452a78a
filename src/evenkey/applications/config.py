"""The configuration of ``evenkey run``: the options of pipelines and applications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from pydantic import AfterValidator

from evenkey.applications.base import PipelineApplication
from evenkey.applications.catalogue import parse
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.aggregate import PipelineConfig, PipelineOptions
from evenkey.pipeline.learn import LearnConfig, Learner, LearningOptions, labelled
from evenkey.pipeline.options import option

if TYPE_CHECKING:
    from evenkey.pipeline.application import Application


class ApplicationConfig(PipelineOptions, LearningOptions):
    """The configuration of ``evenkey run``: a pipeline, or an application.

    `resolved` converts it to a `PipelineConfig`, or to a `LearnConfig` if the application is a
    learner. That class checks the values. `ApplicationConfig` itself only checks that the class
    has every option that the user has set.

    Examples
    --------
    >>> config = ApplicationConfig(application="wordcount", dataset="zipf(z=1.4,keys=100)")
    >>> config.resolved().aggregator
    'count'
    >>> config.manifest()["application"]
    'wordcount'
    >>> config.check_paths()  # nothing to reach: a generated stream, no output
    >>> ApplicationConfig(application="naive-bayes").dataset
    'documents(classes=2,words=10000,z=1.1,size=12,own=0.2)'
    >>> ApplicationConfig(application="word-count")
    Traceback (most recent call last):
    evenkey.core.errors.ConfigurationError: unknown application 'word-count' (did you mean
    'wordcount'?); there are: ...

    >>> str(config.resolved_application()), config.learner() is None
    ('wordcount', True)
    """

    application: Annotated[str, AfterValidator(lambda text: str(parse(text)))] | None = option(
        "Application",
        None,
        "Application to run instead of an aggregator: wordcount, heavy-hitters(k=20), "
        "naive-bayes(alpha=1), decision-tree(max_depth=6).",
        first=True,
        metavar="APPLICATION",
    )

    def __init__(self, /, **options: Any) -> None:
        # For type checkers, as in `PipelineConfig`.
        super().__init__(**options)

    def resolved_application(self) -> Application | None:
        """Return the application; None if the run is a pipeline without an application."""
        return None if self.application is None else parse(self.application)

    def learner(self) -> Learner[Any] | None:
        """Return the application if it is a learner, otherwise None."""
        application = self.resolved_application()
        return application if isinstance(application, Learner) else None

    def resolved(self) -> PipelineConfig | LearnConfig:
        """Return the configuration of the run, with the options that the application sets.

        Raises
        ------
        ConfigurationError
            The user has set an option that the application sets or does not use.
        """
        return self._resolved(whole=True)

    def _resolved(self, *, whole: bool) -> PipelineConfig | LearnConfig:
        """Return the configuration of the run.

        Without `whole`, leave out the options that the application sets: finding them may read
        files.
        """
        application = self.resolved_application()
        kind = LearnConfig if isinstance(application, Learner) else PipelineConfig
        given = self.model_dump(exclude_unset=True, exclude={"application"})
        for name in [name for name in given if name not in kind.model_fields]:
            if given.pop(name) not in (None, (), False):
                self._refuse(name, application)
        if whole and isinstance(application, PipelineApplication):
            sets = application.options(self)
            for name in sets.keys() & given.keys():
                message = (
                    f"{name} = {given[name]!r}: application {application} sets it to "
                    f"{sets[name]!r}; leave out one of them"
                )
                raise ConfigurationError(message)
            given |= sets
        if isinstance(application, Learner) and not self.input:
            stream = labelled(
                self.dataset, application.streams, messages=self.messages, seed=self.seed
            )
            given["dataset"] = stream.name
        return kind(**given)

    def manifest(self) -> dict[str, Any]:
        """Return the options of the run, and the application."""
        return {**self.resolved().manifest(), "application": self.application}

    def check_paths(self) -> None:
        """Check before the run that all files, topics and outputs of the options can be reached."""
        self.resolved().check_paths()

    def derive(self) -> None:
        """Set options that follow from others; this also checks all options."""
        resolved = self._resolved(whole=False)
        for name in type(self).model_fields:
            if name not in self.model_fields_set and hasattr(resolved, name):
                self.set_derived(name, getattr(resolved, name))
        self.set_derived("dataset", resolved.dataset)

    def _refuse(self, name: str, application: Application | None) -> NoReturn:
        why = "only applications that learn use it"
        if isinstance(application, Learner):
            why = f"application {application} does not use it"
        message = f"{name} = {getattr(self, name)!r}: {why}; leave it out"
        raise ConfigurationError(message)
