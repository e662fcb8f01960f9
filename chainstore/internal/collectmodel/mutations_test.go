package collectmodel

// mutation is the rule with a fault.
type mutation string

const (
	unchanged mutation = ""

	notesBeginLate        mutation = "what changes name is noted from after the first read on"
	answersEarly          mutation = "a collection reads before the batch in which it began can be seen"
	parentNotNamed        mutation = "a parent is not noted"
	targetNotNamed        mutation = "a target is not noted"
	headLeftNotNamed      mutation = "the head that an alias leaves is not noted"
	newNotNamed           mutation = "a new node is not noted"
	repeatNotNamed        mutation = "a node that is put again is not noted"
	closureNotTaken       mutation = "what is named is not added before a commit that deletes"
	namedWithoutAncestors mutation = "what is named is kept without its ancestors"
	ancestorsLost         mutation = "what a kept segment forked from is not kept"
	firstSegmentsFirst    mutation = "segments are gone through from the first to the last"
	headsFirst            mutation = "within a segment the first node goes first"
	laterSegmentsSwept    mutation = "segments that begin after the collection are swept, too"
	sweptWithOthers       mutation = "a commit that deletes has other changes in its batch"
	noEmptyRow            mutation = "no empty row stands behind a cut end"
	untoldStays           mutation = "past states that are not told of stay"
	untoldKeeps           mutation = "past states that are not told of keep their nodes"
	statesByNumber        mutation = "past states are deleted as they were read"
	historyKeepsNothing   mutation = "past states keep nothing"
	historyOutlivesForget mutation = "a deletion with its history leaves past states behind"
	linksKeep             mutation = "a link of a spawned node keeps its spawner"
	cutoffOfGraceAlone    mutation = "the cutoff is the grace alone"
	lastPutsPassedOver    mutation = "the time of the first put alone is looked at"
	oldPutsOld            mutation = "a node that another store put long ago counts as put then"
	cachesNotTold         mutation = "caches are not told"
	cachesToldLate        mutation = "caches are told after the commit can be seen"
	lateOffers            mutation = "caches keep what older reads found"
	restoreLooksOnce      mutation = "Restore does not look places up again"
	restoreCountsEarly    mutation = "Restore goes by a count of sweeps that goes up before they can be seen"
	restoreNotNamed       mutation = "what Restore names is not noted"
	holdsIgnored          mutation = "a collection deletes while the store is held"
	gateLookedAt          mutation = "a collection looks whether the store is held, and deletes later"
	holdsDoNotWait        mutation = "a Hold begins while a commit that deletes is under way"
	leavesGateEarly       mutation = "a collection that is cancelled opens the store before its commit can be seen"
	killSurvived          mutation = "a collection goes on after a kill with what it knew"
)
